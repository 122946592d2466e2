"""How well a fit does as a whole, from released values: None where the noise hides it."""

from .intervals import Inference
from .words import WORDS

Limits = tuple[float, float, float]  # a value with its lower and upper limit


def r_squared(inference: Inference, alpha: float = 0.05) -> Limits | None:
    """Return R^2 of least squares on the rows with its limits."""
    found = inference.r_squared(alpha)
    if found is None or residual_variance(inference, alpha) is None or (found[1] <= 0.0 and found[2] >= 1.0):
        return None
    return found


def why_hidden(inference: Inference, alpha: float = 0.05) -> tuple[str, ...]:
    """Say why the noise hides R^2 where it does not hide the coefficients, and what helps; nothing where it is seen."""
    if inference.why_not() or r_squared(inference, alpha) is not None:
        return ()
    sums, remedy = "deviances, which have noise of their own", ""
    if inference.family == "gaussian":
        sums, remedy = "squares, whose noise grows with the square of the target's range", "a tighter target range, "
    return (
        f"{WORDS[inference.family].explained} is hidden by the noise, even where coefficients and the F-statistic are "
        f"clear: it comes from sums of {sums}. For it to be seen, use {remedy}more rows or a larger epsilon.",
    )


def adjusted_r_squared(inference: Inference, alpha: float = 0.05) -> Limits | None:
    """Return R^2 less what coefficients without any effect would add, with its limits."""
    found, free = r_squared(inference, alpha), degrees_of_freedom(inference)
    if found is None or free <= 0.0:
        return None
    factor = (inference.rows_told - inference.intercept) / free
    value, low, high = (1.0 - factor * (1.0 - number) for number in found)
    return value, low, high


def residual_variance(inference: Inference, alpha: float = 0.05) -> Limits | None:
    """Return the residual variance with its limits."""
    found = inference.residual_variance.with_limits(alpha)
    return None if found is None or not found[0] > 0.0 else found


def degrees_of_freedom(inference: Inference) -> float:
    """Return the rows in use less the number of coefficients."""
    return inference.rows_told - len(inference.names)
