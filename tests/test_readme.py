"""What the README shows works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")
pytestmark = pytest.mark.extras

README = Path(__file__).parents[1] / "README.md"


def blocks(language):
    return re.findall(
        rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )


def run(arguments, folder):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_example_runs_and_finds_what_it_says(tmp_path):
    (example,) = blocks("python")
    out = run(["-W", "error", "-c", example], tmp_path)
    age, hours, intercept = map(float, re.findall(r"-?\d+\.?\d*", out.partition("\n")[0]))
    assert age == pytest.approx(300, abs=100)
    assert hours == pytest.approx(900, abs=100)
    assert intercept == pytest.approx(5000, abs=8000)
    assert "Privacy report" in out


def test_the_walk_through_runs(tmp_path):
    from dpols.cli.demo import write_csv
    from dpols.synthetic import patients

    folder = tmp_path / "demo-output"
    folder.mkdir()
    write_csv(folder / "data.csv", patients(3000, seed=0))
    commands = [line.split() for block in blocks("sh") for line in block.splitlines()]
    (bounds,) = blocks("toml")
    assert [command[:2] for command in commands[1:]] == [
        ["dpols", "bounds-template"],
        ["dpols", "fit"],
        ["dpols", "predict"],
    ]
    for _, command, *arguments in commands[1:]:
        run(["-m", "dpols", command, *arguments], folder)
        if command == "bounds-template":
            (folder / "my-bounds.toml").write_text(bounds)
    assert len((folder / "predictions.csv").read_text().splitlines()) == 3001


def test_every_command_is_in_the_table():
    from dpols.cli.app import app, bench

    named = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    named |= {f"bench {command.callback.__name__}" for command in bench.registered_commands}
    assert set(re.findall(r"^\| `dpols ([a-z -]+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)) == named


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
