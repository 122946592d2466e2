"""``dpols cost``: a plan's releases and their price under both accountings, without data."""

import json

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import algorithm
from dpols.privacy import Neighbours, PrivacyBudget, epsilon_of

pytest.importorskip("typer")
pytestmark = pytest.mark.extras


@pytest.fixture
def cost(dpols):
    def run(*arguments):
        sizes = ("--rows", 404, "--features", 13)
        return dpols("cost", *sizes, "--epsilon", 1, "--delta", "1/n^2", "--method", "ihm", *arguments)

    return run


def test_the_papers_noise_is_shown_with_what_it_costs(cost):
    # Known answers for n = 404, d = 13: gamma = 216.7, sigma = 13.64, which cost 0.538 exactly.
    accountings = json.loads(cost("--no-intercept", "--json").out)["accounting"]
    releases = {release["what"]: release for release in accountings["paper"]["releases"]}
    assert releases["sketch of X'X"]["floor"] == pytest.approx(216.7, abs=0.05)
    assert releases["gradient X'clip(y - X theta)"]["multiplier"] == pytest.approx(13.64, abs=0.005)
    assert accountings["paper"]["claimed_epsilon"] == 1.0
    assert accountings["paper"]["exact_epsilon"] == pytest.approx(0.538, abs=0.0005)
    assert accountings["exact"]["exact_epsilon"] == pytest.approx(1.0, rel=1e-6)


def test_what_is_shown_is_the_plan_of_a_fit(cost):
    shown = json.loads(cost("--json", "--neighbours", "replace-one", "--option", "n_iterations=2").out)
    budget = PrivacyBudget(1.0, 404**-2)
    plan = algorithm("ihm").plan(budget.for_zero_out(Neighbours.REPLACE_ONE), n_rows=404, n_features=14, n_iterations=2)
    exact = shown["accounting"]["exact"]
    assert shown["coefficients"] == 14
    assert sum(release["times"] for release in exact["releases"]) == len(plan.releases)
    spent = epsilon_of(plan.releases, budget.delta, relation=Neighbours.REPLACE_ONE)
    assert exact["exact_epsilon"] == pytest.approx(spent, rel=1e-9)


def test_both_accountings_are_printed_side_by_side(cost):
    done = cost("--no-intercept")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    for word in ("exact accounting", "paper accounting", "216.67", "13.64", "0.538", "epsilon that it claims"):
        assert word in done.out


def test_an_option_that_one_accounting_lacks_leaves_the_other(cost):
    done = cost("--option", "eigenvalue=off")
    assert done.code == 0
    assert "No plan under paper accounting" in done.out
    assert cost("--option", "eigenvalue=off", "--accounting", "paper").code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epsilon", "0"], ["--epsilon 0.0"]),
        (["--delta", "2"], ["--delta 2.0"]),
        (["--rows", "0"], ["--rows"]),
        (["--rows", "1"], ["delta", "between 0 and 1"]),
        (["--features", "0"], ["--features"]),
        (["--method", "ols"], ["--method 'ols'"]),
        (["--option", "n_iterations=0"], ["--option n_iterations=0"]),
    ],
)
def test_bad_arguments_are_refused(cost, arguments, words):
    done = cost(*arguments)
    assert (done.code, done.out) == (2, "")
    assert [word for word in words if word not in done.err] == []


def test_inference_shows_what_a_fit_with_it_releases(dpols):
    arguments = ("cost", "--rows", 500, "--features", 2, "--epsilon", 1, "--delta", 1e-5, "--json")
    plain, paid = (json.loads(dpols(*arguments, *more).out)["accounting"]["exact"] for more in ((), ("--inference",)))
    table = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    fit = PrivateLinearRegression(
        epsilon=1, delta=1e-5, bounds=Bounds(features=[(-1, 1)] * 2, target=(-1, 1)), inference=True, random_state=0
    ).fit(table[:, :2], table[:, 2])
    assert {line["what"]: line["multiplier"] for line in paid["releases"]} == {
        line.what: pytest.approx(line.release.multiplier) for line in fit.privacy_report_.lines
    }
    assert plain["exact_epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert paid["exact_epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert len(paid["releases"]) > len(plain["releases"])


def test_intervals_are_those_of_one_method(dpols):
    common = ("cost", "--rows", 500, "--features", 2, "--epsilon", 1, "--delta", 1e-5, "--inference", "--method")
    for method, words in (("all", "--inference belong to one method"), ("ihm", "inference goes with")):
        done = dpols(*common, method)
        assert done.code == 2
        assert words in " ".join(done.err.split())
