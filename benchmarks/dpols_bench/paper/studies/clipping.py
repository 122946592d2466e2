"""How often IHM clips, by the network that makes the features, and by chi sqrt(kappa) / (2 - chi)."""

from collections.abc import Sequence
from functools import lru_cache

from scipy.stats import spearmanr

from dpols.theory import no_clipping_ratio, shifted_condition_number

from ...datasets.networks import is_network, network_name
from ..cells import Cell, plan_of, problem
from ..rules import Evidence, Finding
from ..summary import CellSummary
from .forms import Form, cells_at

CLAIMED = 0.4


def cells(form: Form) -> list[Cell]:
    names = [network_name(name, form.network_rows) for name in form.networks]
    return cells_at(form, ["ihm"], names, form.epsilons)


def claimed_share(evidence: Evidence) -> Finding:
    """Decide whether more than 40% of the iterations clip at every epsilon, for some network of the sweep."""
    curves = _curves(evidence)
    if not curves:
        return Finding("not run", "no network was run")
    reach = {name: min(_share(s) for s in curve) for name, curve in curves.items()}
    open_to_it = {name: min(_later_share(s) for s in curve) for name, curve in curves.items()}
    plain = next((reach[name] for name in reach if "-plain-" in name), 0.0)
    verdict = "holds" if plain > CLAIMED else "holds in part" if max(reach.values()) > CLAIMED else "refuted"
    shares = "; ".join(
        f"{_short(name)} {', '.join(f'{_share(s):.0%}' for s in curve)}" for name, curve in curves.items()
    )
    epsilons = ", ".join(f"{s.cell.epsilon:.3g}" for s in next(iter(curves.values())))
    best = max(open_to_it, key=lambda name: open_to_it[name])
    return Finding(
        verdict,  # type: ignore[arg-type]
        f"share of iterations that clip, at epsilon {epsilons}: {shares}. Of three iterations the first starts at zero "
        f"and never clips; of the other two, at least {open_to_it[best]:.0%} clip with {_short(best)}",
    )


def grows_with_ratio(evidence: Evidence) -> Finding:
    """Decide whether clipping becomes more frequent as the ratio grows: within each network, over the epsilons."""
    curves = {name: curve for name, curve in _curves(evidence).items() if any(map(_share, curve))}
    if not curves:
        return Finding("not run", "no network that was run clips")
    parts, good = [], []
    for name, curve in curves.items():
        rank = float(spearmanr([ratio_of(s.cell) for s in curve], [_share(s) for s in curve]).statistic)
        good.append(rank > 0.0)
        parts.append(f"{_short(name)} {rank:.2f}")
    share = sum(good) / len(good)
    verdict = "holds" if share == 1.0 else "holds in part" if share > 0.5 else "refuted"
    every = [s for curve in _curves(evidence).values() for s in curve]
    over_all = float(spearmanr([ratio_of(s.cell) for s in every], [_share(s) for s in every]).statistic)
    return Finding(
        verdict,  # type: ignore[arg-type]
        f"rank correlation of share and ratio over the epsilons: {', '.join(parts)}; over all {len(every)} cells of "
        f"all networks {over_all:.2f}",
    )


@lru_cache(maxsize=1024)
def ratio_of(cell: Cell) -> float:
    """Return chi sqrt(kappa) / (2 - chi) of a cell of IHM, with chi^2 = d / k."""
    smallest, largest = _spectrum(cell.dataset)
    risk = problem(cell.dataset).risk
    plan = plan_of(cell, risk.n, risk.rotation.shape[1])
    kappa = shifted_condition_number(smallest=smallest, largest=largest, floor=plan.floor)
    return no_clipping_ratio(n_features=plan.n_features, sketch_size=plan.sketch_size, condition_number=kappa)


@lru_cache(maxsize=64)
def _spectrum(dataset: str) -> tuple[float, float]:
    risk = problem(dataset).risk
    smallest = float(risk.singular[-1] ** 2) if len(risk.singular) == risk.rotation.shape[1] else 0.0
    return smallest, float(risk.singular[0] ** 2)


def _curves(evidence: Evidence) -> dict[str, Sequence[CellSummary]]:
    names = [name for name in evidence.results.datasets if is_network(name)]
    return {name: curve for name in names if (curve := evidence.curve(name, "ihm"))}


def _share(found: CellSummary) -> float:
    return found.clipped_share or 0.0


def _later_share(found: CellSummary) -> float:
    """Return the share among the iterations that can clip, all but the first of three."""
    return 1.5 * _share(found)


def _short(name: str) -> str:
    return name.split("-", 1)[1].rsplit("-", 1)[0]
