"""How sure advice must be: what a fit says of all its columns together is seldom false."""

from scipy.special import ndtri

_FALSE = 0.01  # chance that anything false is said of a fit


def sure_of(count: int) -> float:
    """Return beyond how many standard deviations noise seldom leads, on either side, in any of so many numbers.

    By Bonferroni's inequality, that is with a probability of at most 1% in all of them together.
    """
    return -float(ndtri(0.5 * _FALSE / max(count, 1)))
