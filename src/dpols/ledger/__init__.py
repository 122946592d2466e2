"""A privacy budget in a file, which many fits share."""

from .budget_ledger import BudgetLedger, as_ledger
from .charging import gaussian_left
from .records import Entry, State

__all__ = ["BudgetLedger", "Entry", "State", "as_ledger", "gaussian_left"]
