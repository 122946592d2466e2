"""The command as a whole: help, version, missing extras, exit codes, and how it is started."""

import os
import subprocess
import sys

import pytest

import dpols as package
from dpols import cli

COMMANDS = ["fit", "predict", "bounds-template", "cost", "demo", "ledger", "ledger show"]

pytestmark = pytest.mark.extras


def without(monkeypatch, name):
    """Make importing a package fail, also where it has been imported before."""
    for module in list(sys.modules):
        if module.partition(".")[0] == name or module.startswith("dpols.cli."):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)


def test_version(dpols):
    pytest.importorskip("typer")
    assert dpols("--version").out == f"dpols {package.__version__}\n"


def test_commands_load_estimators_only_when_they_run():
    pytest.importorskip("typer")
    code = "import sys, dpols.cli.app; print(*sorted({'scipy', 'sklearn'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_help_names_every_command_and_is_shown_without_arguments(dpols):
    pytest.importorskip("typer")
    shown = dpols("--help")
    assert shown.code == 0
    assert [name for name in COMMANDS if name.split()[0] not in shown.out] == []
    assert dpols().out.split() == shown.out.split()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(dpols, command):
    pytest.importorskip("typer")
    done = dpols(*command.split(), "--help")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("arguments", [["train"], ["--loud"], ["ledger", "taste"]])
def test_bad_usage_is_one_line(dpols, arguments):
    pytest.importorskip("typer")
    done = dpols(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert "--help" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["typer", "rich"])
def test_without_its_packages_the_command_names_the_extra(dpols, monkeypatch, name):
    without(monkeypatch, name)
    done = dpols("--version")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"error: {name} is not installed. Install it, in a clone of dpols, with: pip install '.[cli]'\n"


@pytest.mark.parametrize(
    ("name", "extra", "arguments"),
    [
        ("pyarrow", "files", ["fit", "data.csv", "--target", "pay", "--bounds", "bounds.toml", "--out", "m.json"]),
        ("matplotlib", "plots", ["demo", "--out", "demo"]),
    ],
)
@pytest.mark.usefixtures("csv", "bounds")
def test_without_an_extra_a_command_names_it(dpols, monkeypatch, tmp_path, name, extra, arguments):
    pytest.importorskip("typer")
    without(monkeypatch, name)
    done = dpols(*arguments, "--epsilon", "1", *(["--delta", "1e-6"] if name == "pyarrow" else []))
    assert (done.code, done.out) == (1, "")
    assert f"pip install '.[{extra}]'" in done.err
    assert not (tmp_path / "m.json").exists()
    assert not (tmp_path / "demo").exists()


def test_what_nobody_expected_is_one_line_too(dpols, monkeypatch):
    def run(_):
        raise RuntimeError("two\nlines with a cell of the table")

    monkeypatch.setattr(cli, "_run", run)
    done = dpols("fit")
    assert done.code == 1
    assert done.err.startswith("error: unexpected RuntimeError; it may be a bug of dpols.")
    assert done.err.count("\n") == 1
    assert "a cell" not in done.err


def test_warnings_are_one_line_each(dpols, monkeypatch):
    import warnings

    monkeypatch.setattr(cli, "_run", lambda _: warnings.warn("mind the\ngap", UserWarning, stacklevel=1))
    assert dpols("fit").err == "warning: mind the gap\n"


def test_the_package_runs_as_a_module(tmp_path):
    pytest.importorskip("typer")
    command = [sys.executable, "-m", "dpols"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (version.returncode, version.stdout) == (0, f"dpols {package.__version__}\n")
    bad = subprocess.run([*command, "fit", "x"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("error: Missing option")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("dpols fi", "fit"),
        ("dpols fit --arit", "--arithmetic"),
        ("dpols fit --method linmix-d", "linmix-dynamic"),
        ("dpols ledger cr", "create"),
    ],
)
def test_shells_complete_commands_and_options(words, found, tmp_path):
    pytest.importorskip("typer")
    asked = {"_DPOLS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-m", "dpols"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.split() == [found]


def test_the_script_for_completion_can_be_shown(dpols):
    pytest.importorskip("typer")
    done = dpols("--show-completion", "bash")
    assert done.code == 0
    assert "_DPOLS_COMPLETE" in done.out
