"""What a budget that promises little, or nothing, means, for people who read reports and not proofs."""

from .attacker import success_under
from .budget import PrivacyBudget

NOT_PRIVATE = "NOT PRIVATE"  # of a fit, a sketch or a search whose guarantee does not hold
_LARGE_EPSILON = 10.0


def cautions_on(budget: PrivacyBudget, n_rows: int | None) -> tuple[str, ...]:
    """Say where a guarantee holds and yet promises little; nothing for budgets as they are customary.

    ``n_rows`` is public or released, or None where neither is the case.
    """
    found = []
    if budget.epsilon > _LARGE_EPSILON:
        chance = f"{100.0 * success_under(budget):.6g}%"
        found.append(
            f"CAUTION: epsilon = {budget.epsilon:.6g} is so large that the guarantee promises next to nothing. It lets "
            f"an attacker be right with probability {chance} on whether a row is in the data. Typical values "
            "lie between 0.1 and 10."
        )
    if not n_rows:
        return tuple(found)
    if budget.delta * n_rows > 1.0:
        found.append(
            f"CAUTION: delta = {budget.delta:.4g} is above 1 / (number of rows) = {1.0 / n_rows:.2g}. A program that "
            "publishes some rows outright could have such a guarantee. Choose delta far below that, such as "
            f"1 / (number of rows)^2 = {1.0 / n_rows**2:.2g}."
        )
    elif budget.delta * n_rows > 0.1:
        found.append(
            f"Note: delta = {budget.delta:.4g} is not far below 1 / (number of rows) = {1.0 / n_rows:.2g}, as is "
            f"customary. Choose less than a tenth of that, such as 1 / (number of rows)^2 = {1.0 / n_rows**2:.2g}."
        )
    return tuple(found)
