"""T = 3, which the paper chose as the minimum of 3^-T n + gamma C."""

import math

from ..rules import Evidence, Finding

N_ROWS, N_FEATURES, EPSILON, CLIP_LEVEL = 2**10, 2**7, 0.5, 2.0


def objective(n_iterations: int, *, grows: bool = True, squared: bool = False) -> float:
    """Return 3^-T n + gamma C at the paper's target, n = 2^10, d = 2^7, epsilon = 0.5, delta = 1/n^2, C = 2 C_Y.

    The text does not say which gamma. That of the proof grows with the number of iterations,
    sqrt(T max(d, log(T / failure)) log(1 / delta)) / epsilon; that of the theorem does not. Nor does the text say
    whether C is squared, as it is in the bound.
    """
    delta = 1.0 / N_ROWS**2
    size = max(N_FEATURES, math.log((n_iterations if grows else 1.0) * 10.0 / delta))
    gamma = math.sqrt((n_iterations if grows else 1.0) * size * math.log(1.0 / delta)) / EPSILON
    return 3.0**-n_iterations * N_ROWS + gamma * (CLIP_LEVEL**2 if squared else CLIP_LEVEL)


def best_number(**reading: bool) -> int:
    """Return the number of iterations from 1 to 12 at which the objective is least."""
    return min(range(1, 13), key=lambda n: objective(n, **reading))


def minimum_at_three(evidence: Evidence) -> Finding:
    """Decide on T = 3 under the readings that the text allows."""
    found = best_number()
    others = f"T = {best_number(squared=True)} with C squared"
    values = ", ".join(f"{objective(n):.0f} at T = {n}" for n in range(1, 6))
    return Finding(
        "holds" if found == 3 == best_number(squared=True) else "holds in part" if found == 3 else "refuted",
        f"with the proof's gamma, which grows as sqrt(T), the minimum is at T = {found} ({values}); at {others}; with "
        "the theorem's gamma, which does not grow, there is no minimum",
    )
