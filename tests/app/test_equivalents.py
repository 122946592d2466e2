"""The command and the script that the app shows make the fit that the app makes, which costs what the plan says."""

import contextlib
import runpy
import shlex
import subprocess
import sys

import pytest
from app_visits import ROWS

from dpols.app.equivalents import command_line, script
from dpols.cli import main
from dpols.estimators import load_any
from dpols.ledger import BudgetLedger

pytestmark = pytest.mark.extras

CASES = {
    "number": {},
    "number with units, squares, products and intervals": {
        "data": {"unit": "person", "rows_per_unit": "2"},
        "model": {"square-0": "yes", "left-0": "0", "right-0": "1"},
        "plan": {"inference": "yes"},
    },
    "paid": {"bounds": {"way": "paid"}, "plan": {"bad_rows": "zero", "delta": "1/n^2"}},
    "yes-no": {"model": {"kind": "yes-no", "target": "4", "no": "no", "yes": "yes"}},
    "yes-no with units and intervals": {
        "data": {"unit": "person", "rows_per_unit": "2"},
        "model": {"kind": "yes-no", "target": "4", "no": "no", "yes": "yes"},
        "plan": {"inference": "yes"},
    },
    "count": {"model": {"kind": "count", "target": "5"}, "bounds": {"low-5": "0", "high-5": "10"}},
    "count with intervals": {
        "model": {"kind": "count", "target": "5"},
        "bounds": {"low-5": "0", "high-5": "10"},
        "plan": {"inference": "yes"},
    },
}


def in_a_process(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def command_here(shell):
    with pytest.raises(SystemExit) as exited:
        main(shlex.split(shell.replace("\\\n", " "))[1:])  # which a shell takes for one line
    assert exited.value.code == 0


IN_PROCESSES = {
    "command": lambda shell: in_a_process("sh", "-c", f"{shlex.quote(sys.executable)} -m {shell}"),
    "script": lambda shell: in_a_process(sys.executable, "fit.py"),
}
HERE = {"command": command_here, "script": lambda shell: runpy.run_path("fit.py", run_name="__main__")}


@pytest.mark.parametrize("name", CASES)
def test_the_same_fit_by_other_means(visitor, table, tmp_path, name):
    case, key = CASES[name], visitor.project()
    visitor.data(key, table, **{"total_epsilon": "8", **case.get("data", {})})
    visitor.model(key, **case.get("model", {}))
    visitor.bounds(key, **case.get("bounds", {}))
    assert visitor.plan(key, **case.get("plan", {})).url.path == f"{key}/confirm"
    project = visitor.site.projects.find("a-study")
    choices = project.choices()
    (tmp_path / "bounds.toml").write_text(project.bounds_file.read_text())
    (tmp_path / "fit.py").write_text(script(choices))
    shell = command_line(choices)
    assert shell.startswith("dpols fit ")
    ways = IN_PROCESSES if name == "number" else HERE  # a new process takes longer than a fit
    found = {}
    for way, run in ways.items():
        with contextlib.chdir(tmp_path):
            run(shell)
        found[way] = load_any(tmp_path / "model.json").privacy_report_
        assert "Privacy report" in (tmp_path / "report.html").read_text()
        (tmp_path / "report.html").unlink()
    if name == "number":  # the app runs the command, whose arguments are the same in all cases
        visitor.post(f"{key}/confirm", visitor.order(key))
        assert visitor.until_done(key) == "done"
        found["app"] = load_any(project.folder / "fits" / "1" / "model.json").privacy_report_
    first = found["command"]
    assert first.n_rows == ROWS
    for report in found.values():
        assert report.method == first.method
        assert report.releases == first.releases
        assert report.asked == first.asked
        assert [c.name for c in report.coefficients] == [c.name for c in first.coefficients]
        assert (report.unit, report.rows_per_unit, report.bounds_origin) == (
            first.unit,
            first.rows_per_unit,
            first.bounds_origin,
        )
    assert len(BudgetLedger(choices.data.ledger).entries()) == len(found)

    assert planned(choices).releases == tuple((line.times, line.what, line.describe()) for line in first.lines)
    state = BudgetLedger(choices.data.ledger).state()
    for entry in state.entries:
        assert planned(choices).share == pytest.approx(state.share_of(entry))


def planned(choices):
    from dpols.app.costs import cost

    plan = choices.plan
    return cost(choices, epsilon=plan.epsilon, delta=plan.delta, inference=plan.inference)
