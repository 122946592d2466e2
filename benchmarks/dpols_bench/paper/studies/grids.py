"""Searches over grids: LinMix's sketch, DP-GD's rate, and how IHM divides its budget over the iterations."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from dpols.privacy import PrivacyBudget
from dpols.theory import linmix_guarantee

from ..cells import Cell, problem
from ..grids import ALLOCATIONS, MULTIPLIERS, RATES, dp_gd_at, ihm_at, linmix_at
from ..rules import Evidence, Finding
from ..summary import CellSummary
from .forms import Form, cells_at

TARGET_EPSILON = 0.5  # at which the paper searched
_CLOSE = 1.05
_NOT_RUN = Finding("not run", "the cells that it speaks of were not run or are not available")


def linmix_cells(form: Form) -> list[Cell]:
    return cells_at(form, [linmix_at(x) for x in MULTIPLIERS], form.datasets, (TARGET_EPSILON,))


def rate_cells(form: Form) -> list[Cell]:
    return cells_at(form, [dp_gd_at(rate) for rate in RATES], form.datasets, (TARGET_EPSILON,))


def allocation_cells(form: Form) -> list[Cell]:
    return cells_at(form, ["ihm", *(ihm_at(ratio) for ratio in ALLOCATIONS)], form.datasets, form.epsilons)


def best_multiplier(evidence: Evidence) -> Finding:
    """Decide on 2.5: over the data sets that favour LinMix, as far as this can be told from the paper's conditions."""
    every = _risks(evidence, linmix_at, MULTIPLIERS, TARGET_EPSILON)
    favoured = {name: risks for name, risks in every.items() if favours_linmix(name)}
    if not favoured:
        return _NOT_RUN
    means = _means(list(favoured.values()), MULTIPLIERS, 2.5)
    most = Counter(_best(risks) for risks in favoured.values()).most_common(1)[0][0]
    verdict = "holds" if _best(means) == 2.5 else "holds in part" if most == 2.5 else "refuted"
    over_all = _means(list(every.values()), MULTIPLIERS, 2.5)
    return Finding(
        verdict,  # type: ignore[arg-type]
        f"risk over that at 2.5, geometric mean over {len(favoured)} favourable data sets: {_listed(means)}; "
        f"best on single ones: {_winners(favoured.values(), MULTIPLIERS)}; over all {len(every)}: {_listed(over_all)}",
    )


def best_rate(evidence: Evidence) -> Finding:
    """Decide on 0.25: whether it has the least risk on most data sets."""
    every = _risks(evidence, dp_gd_at, RATES, TARGET_EPSILON)
    if not every:
        return _NOT_RUN
    wins = Counter(_best(risks) for risks in every.values())
    share = wins[0.25] / len(every)
    most = wins.most_common(1)[0][0]
    verdict = "holds" if share > 0.5 else "holds in part" if most == 0.25 else "refuted"
    means = _means(list(every.values()), RATES, 0.25)
    return Finding(
        verdict,  # type: ignore[arg-type]
        f"best on {wins[0.25]} of {len(every)} data sets; best on single ones: {_winners(every.values(), RATES)}; risk "
        f"over that at 0.25, geometric mean: {_listed(means)}",
    )


def best_allocation(evidence: Evidence) -> Finding:
    """Decide whether another allocation of the same budget lowers IHM's risk by more than 5%."""
    ratios: dict[float, list[float]] = {ratio: [] for ratio in ALLOCATIONS}
    for ratio, logs in ratios.items():
        for one, two in evidence.pairs(ihm_at(ratio), "ihm", evidence.results.datasets):
            logs.append(math.log(one.train.value / two.train.value))
    if not all(ratios.values()):
        return _NOT_RUN
    means = {ratio: math.exp(math.fsum(logs) / len(logs)) for ratio, logs in ratios.items()}
    best = _best(means)
    better = sum(log < 0.0 for log in ratios[best])
    verdict = "holds" if _CLOSE * means[best] < 1.0 else "holds in part" if means[best] < 0.99 else "refuted"
    return Finding(
        verdict,  # type: ignore[arg-type]
        f"risk over that of equal parts, by how much more a gradient has than the one before: {_listed(means)}; "
        f"{best:g} is better in {better} of {len(ratios[best])} cells",
    )


@lru_cache(maxsize=64)
def favours_linmix(dataset: str) -> bool:
    """Whether the paper's conditions hold: L < gamma_m (1 + C_Y^2), and a small smallest eigenvalue of X'X.

    Its third condition, that C_Y is about the norm of theta*, is left out: where X'X is all but singular, the norm of
    least squares says nothing.
    """
    risk = problem(dataset).risk
    n, d = risk.n, risk.rotation.shape[1]
    budget = PrivacyBudget(TARGET_EPSILON, 1.0 / n**2)
    gamma = linmix_guarantee(budget, n_features=d, theta_norm=1.0, smallest_joint=0.0, loss=risk.loss).multiplier
    smallest = float(risk.singular[-1] ** 2) if len(risk.singular) == d else 0.0
    return risk.loss < 2.0 * gamma and smallest < gamma


def _risks(
    evidence: Evidence, name: Callable[[float], str], values: Sequence[float], epsilon: float
) -> dict[str, dict[float, float]]:
    """Return for each data set on which the whole grid was run the risk at each value."""
    found: dict[str, dict[float, float]] = {}
    for dataset in evidence.results.datasets:
        cells = {value: _at(evidence, dataset, name(value), epsilon) for value in values}
        risks = {value: cell.train.value for value, cell in cells.items() if cell is not None}
        if len(risks) == len(values):
            found[dataset] = risks
    return found


def _at(evidence: Evidence, dataset: str, method: str, epsilon: float) -> CellSummary | None:
    return evidence.results.find(dataset, method, evidence.accounting, epsilon)


def _means(every: Sequence[dict[float, float]], values: Sequence[float], base: float) -> dict[float, float]:
    """Return the geometric mean of the risk at each value over that at the base."""
    return {
        value: math.exp(math.fsum(math.log(risks[value] / risks[base]) for risks in every) / len(every))
        for value in values
    }


def _winners(every: Iterable[dict[float, float]], values: Sequence[float]) -> str:
    wins = Counter(_best(risks) for risks in every)
    return ", ".join(f"{value:g} ({wins[value]})" for value in values if wins[value])


def _best(risks: dict[float, float]) -> float:
    return min(risks, key=lambda value: risks[value])


def _listed(means: dict[float, float]) -> str:
    return ", ".join(f"{value:g}: {mean:.3g}" for value, mean in means.items())
