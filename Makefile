# Needs Python 3.11 or newer and pip, nothing else: every target makes its own virtual environment.
PYTHON ?= python3
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
OLDEST_BIN := .venv-oldest/$(SCRIPTS)
OTHER_BIN := .venv-diffprivlib/$(SCRIPTS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes, which would each compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := -m pip install -q

.DEFAULT_GOAL := help
.PHONY: help demo app app-pictures test check test-oldest wheel-check paper studies score tables sources planted fuzz kill-ledger docs lint clean
# Two pips must not write to one environment at the same time.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/installed-demo ## fit a private regression and write what it gives to demo-output/
	$(BIN)/dpols demo --out demo-output
	@echo "In the browser: make app"

app: .venv/installed-app ## open the app in the browser, with a project to try
	$(BIN)/dpols app --demo

app-pictures: .venv/installed-test ## make the pictures of the app in docs/images (needs Chromium)
	$(BIN)/python tests/app/screenshots.py --docs docs/images

test: .venv/installed-test ## run the tests and the doctests (set DPOLS_DATA for those that need data)
	$(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder --durations=15

CHECKED := tests/test_import_direction.py tests/test_layout.py tests/test_public_names.py \
	tests/laws/test_law_reproducibility.py tests/laws/test_law_budget.py tests/laws/test_law_units.py \
	tests/estimators/test_bad_input.py tests/report/test_report.py tests/storage tests/cli/test_fit.py

check: lint .venv/installed-test ## lint, types and the tests that matter for most changes, in under a minute
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not slow" $(CHECKED)

wheel-check: .venv/installed-test ## build sdist and wheel, install it elsewhere without the repository, and use it
	$(BIN)/python tests/wheel_smoke.py $(PYTHONS)

test-oldest: .venv-oldest/installed ## run the tests of the core with the oldest dependencies that pyproject.toml allows
	$(OLDEST_BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder tests --ignore tests/benchmarks --ignore tests/planted -m "not data and not extras"  # these need all extras

paper: .venv/installed-test ## repeat the paper's evaluation: tables, figures and claims in paper-results/
	$(BIN)/dpols-bench paper --out paper-results

studies: .venv/installed-test ## run the paper's own searches again, for the claims in paper-results/ (long)
	$(BIN)/dpols-bench paper --studies --out paper-results

score: .venv/installed-test ## score the methods over data sets and epsilons, results in scores/
	$(BIN)/dpols-bench score --out scores

tables: .venv/installed-test .venv-diffprivlib/installed ## fit public tables as people have them, results in table-results/
	$(BIN)/dpols-bench tables --diffprivlib $(OTHER_BIN)/python --out table-results

sources: .venv/installed-test ## fit every pair of options on every kind of source, Dask and Spark too: one result of all
	DPOLS_WHOLE=1 $(BIN)/pytest -q tests/data/test_sources_together.py

planted: .venv/installed-test ## plant known mistakes in copies of the source: the tests must find each
	$(BIN)/python tests/planted

fuzz: .venv/installed-test ## feed the public entry points 120,000 odd inputs, and measure what they reach
	PYTHONPATH=tests/fuzz $(BIN)/python -m fuzzing

kill-ledger: .venv/installed-test ## kill 300 processes that use a ledger, and look for what is lost
	$(BIN)/python tests/ledger/kill_loop.py --kills 300

docs: .venv/installed-docs ## build the site in docs/_build/html; any warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

lint: .venv/installed-lint ## check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

clean: ## remove everything that the other targets made
	rm -rf .venv .venv-oldest .venv-diffprivlib demo-output docs/_build docs/gallery dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv .venv

$(OLDEST_BIN)/python:
	$(PYTHON) -m venv .venv-oldest

$(OTHER_BIN)/python:
	$(PYTHON) -m venv .venv-diffprivlib

# One environment, four stamps: each target installs only what it needs on top of what is there.
.venv/installed-demo: EXTRAS := files,plots,cli
.venv/installed-app: EXTRAS := app
.venv/installed-test: EXTRAS := all,test
.venv/installed-lint: EXTRAS := all,test,lint
.venv/installed-docs: EXTRAS := all,test,docs
.venv/installed-test .venv/installed-lint .venv/installed-docs: BESIDE := -e benchmarks
.venv/installed-demo .venv/installed-app .venv/installed-test .venv/installed-lint .venv/installed-docs: pyproject.toml benchmarks/pyproject.toml | $(BIN)/python
	$(BIN)/python $(PIP_INSTALL) -e '.[$(EXTRAS)]' $(BESIDE)
	@touch $@

LOWER_BOUNDS := import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*(bound.replace(">=", "==") for bound in project["dependencies"]))

.venv-oldest/installed: pyproject.toml | $(OLDEST_BIN)/python
	$(OLDEST_BIN)/python $(PIP_INSTALL) $$($(OLDEST_BIN)/python -c '$(LOWER_BOUNDS)') -e . pytest pytest-timeout pytest-xdist hypothesis mpmath
	@touch $@

# diffprivlib does not work with newer versions of scikit-learn, so it has an environment of its own.
.venv-diffprivlib/installed: | $(OTHER_BIN)/python
	$(OTHER_BIN)/python $(PIP_INSTALL) diffprivlib==0.6.6 scikit-learn==1.5.2 numpy==2.2.6
	@touch $@
