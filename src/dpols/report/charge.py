"""What a ledger says that a charge is for, so that a report can be held against it."""

from collections.abc import Sequence

from ..privacy import PrivacyBudget
from .alarm import not_private_in_short


def charge_of_fit(
    method: str,
    budget: PrivacyBudget,
    relation: str,
    *,
    unit: str | None,
    rows_per_unit: int,
    seeded: bool,
    bounds_origin: str,
    void: Sequence[str],
) -> str:
    """Say what a fit is, in public numbers: whom it protects, and whether it is not private."""
    units = "" if unit is None else f", {unit} of up to {rows_per_unit} rows"
    in_short = not_private_in_short(seeded=seeded, bounds_origin=bounds_origin, void=void)
    return f"{method} fit at {budget}, {relation}{units}{in_short}"
