"""Fits, files, ledgers and commands need no call that only POSIX systems have, and rename no open file."""

import subprocess
import sys

import pytest

WITHOUT_POSIX = """
import os, signal, sys

CALLS = ("fork", "posix_fallocate", "register_at_fork", "sched_getaffinity", "fchmod", "O_NOFOLLOW", "getuid")
for module, names in ((os, CALLS), (signal, ("SIGKILL", "SIGALRM", "SIGHUP", "setitimer"))):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
for module in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[module] = None  # an import of it fails

rename = os.replace

def replace(source, target):
    held = {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}
    assert os.path.realpath(source) not in held, "an open file is renamed"
    rename(source, target)

os.replace = replace
"""
FIT = """
import numpy as np
import dpols

x = np.linspace(-1, 1, 500)[:, None]
bounds = dpols.Bounds(features=[(-1, 1)], target=(-3, 5))
ledger = dpols.BudgetLedger("a.ledger", epsilon=10.0, delta=1e-5)
model = dpols.PrivateLinearRegression(5.0, 1e-6, bounds, ledger=ledger).fit(x, 1 + 2 * x[:, 0])
model.save("model.json")
assert dpols.PrivateLinearRegression.load("model.json").coef_ == model.coef_
assert len(ledger.entries()) > 0
print("works")
"""


COMMANDS = """
from dpols.cli import main

def run(*words, code=0):
    try:
        main(words)
    except SystemExit as ended:
        assert ended.code == code, (words, ended.code)

with open("staff.csv", "w") as file:
    file.write("age,pay\\n" + "".join(f"{18 + i % 50},{1000 + 20 * (i % 50)}\\n" for i in range(2000)))
with open("bounds.toml", "w") as file:
    file.write('[target]\\nname = "pay"\\nlow = 0\\nhigh = 4000\\n[features.age]\\nlow = 16\\nhigh = 70\\n')
budget = ("--epsilon", "2", "--delta", "1e-6")
run("ledger", "create", "staff.ledger", *budget)
fit = ("fit", "staff.csv", "--target", "pay", "--bounds", "bounds.toml", *budget, "--ledger", "staff.ledger")
run(*fit, "--out", "model.json", "--report", "report.html")
run(*fit, "--out", "again.json", code=1)  # the ledger refuses
run("predict", "model.json", "staff.csv", "--out", "predictions.csv")
run("verify", "report.html", "--ledger", "staff.ledger")
run("app", "--demo", "--no-browser", code=2)
import os
assert not os.path.exists("dpols-projects")
print("works")
"""

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for open files in /proc")


def without_posix(code, folder):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX + code], cwd=folder, capture_output=True, text=True, check=False
    )


@on_linux
def test_a_fit_needs_no_posix_call(tmp_path):
    done = without_posix(FIT, tmp_path)
    assert done.stdout == "works\n", done.stderr


@on_linux
@pytest.mark.extras
def test_commands_need_no_posix_call_and_the_app_says_that_it_does(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("pyarrow")
    done = without_posix(COMMANDS, tmp_path)
    assert done.stdout.endswith("works\n"), done.stderr
    assert "dpols app needs file locks of POSIX" in done.stderr
    assert "Traceback" not in done.stderr
