"""Fits, model files and ledgers need no call that only POSIX systems have, and rename no open file."""

import subprocess
import sys

import pytest

WITHOUT_POSIX = """
import os, sys

for name in ("fork", "posix_fallocate", "register_at_fork", "sched_getaffinity", "fchmod", "O_NOFOLLOW"):
    if hasattr(os, name):
        delattr(os, name)
for module in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[module] = None  # an import of it fails

rename = os.replace

def replace(source, target):
    held = {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}
    assert os.path.realpath(source) not in held, "an open file is renamed"
    rename(source, target)

os.replace = replace

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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for open files in /proc")
def test_a_fit_needs_no_posix_call(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "works\n", done.stderr
