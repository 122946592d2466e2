"""What a fit would cost, and what is left of a ledger: public numbers alone."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..errors import DpolsError
from .choices import Choices
from .declaring import declared_map
from .equivalents import PAID_SHARE

if TYPE_CHECKING:
    from ..algorithms import Algorithm
    from ..ledger import State
    from ..privacy import Release


@dataclass(frozen=True)
class Gauge:
    """How full a ledger is."""

    path: str
    epsilon: float
    delta: float
    neighbours: str
    used: float  # share
    left: float  # the epsilon of the largest Gaussian fit that is left


@dataclass(frozen=True)
class Cost:
    """What a fit would take."""

    budget_epsilon: float
    budget_delta: float
    share: float | None  # of the whole ledger; None where it takes all of it, being its first entry
    affordable: bool
    releases: tuple[tuple[int, str, str], ...]  # times, what, noise
    attacker: float  # how often the best attack on the releases is right about one row
    promised: float  # how often any attack is right at most, by epsilon and delta alone


def gauge(path: str) -> Gauge:
    """Return how full a ledger is."""
    from ..ledger import BudgetLedger

    ledger = BudgetLedger(path)
    state = ledger.state()
    budget, left = state.budget, _left(path, ledger.head())
    return Gauge(path, budget.epsilon, budget.delta, str(state.neighbours), state.used, left)


@lru_cache(maxsize=64)
def _left(path: str, head: str) -> float:
    from ..ledger import BudgetLedger

    ledger = BudgetLedger(path)
    return ledger.state().budget.epsilon if not ledger.state().counted else ledger.gaussian_left()


def cost(choices: Choices, *, epsilon: float, delta: str, inference: bool) -> Cost:
    """Return what a fit of these choices would take of its ledger."""
    from ..ledger import BudgetLedger
    from ..privacy import Neighbours
    from ..privacy.attacker import success_under
    from ..privacy.budget import budget_for
    from ..report import release_lines

    assert choices.data is not None
    assert choices.model is not None
    assert choices.ranges is not None
    state = BudgetLedger(choices.data.ledger).state()
    n_units = -(-choices.data.rows // choices.data.rows_per_unit)
    budget = budget_for(epsilon, _number_or_rule(delta), choices.data.rows)
    planned = _planned(
        choices.model.family, len(declared_map(choices).names), n_units, budget.epsilon, budget.delta, inference,
        choices.ranges.paid, choices.data.unit is not None,
    )  # fmt: skip
    share, affordable = _share(state, planned.releases)
    lines = release_lines(planned.names, planned.releases)
    releases = tuple((line.times, line.what, line.describe()) for line in lines)
    promised = success_under(budget)
    attacker = min(_attacker(planned.releases, str(Neighbours.ZERO_OUT)), promised)
    return Cost(budget.epsilon, budget.delta, share, affordable, releases, attacker, promised)


def method_of(family: str, *, inference: bool) -> "Algorithm":
    """Return the method by which ``dpols fit`` fits outcomes of a family, with intervals or without."""
    from ..algorithms import algorithm, with_intervals
    from ..estimators import METHODS

    name = METHODS.get(family, "whitened")
    return algorithm(with_intervals(name) if inference else name)


@dataclass(frozen=True)
class _Planned:
    names: tuple[str, ...]
    releases: "tuple[Release, ...]"


@lru_cache(maxsize=256)
def _planned(
    family: str, n_features: int, n_rows: int, epsilon: float, delta: float, inference: bool, paid: bool, units: bool
) -> _Planned:
    """Plan the releases of a fit in exact accounting."""
    from ..privacy import PrivacyBudget
    from ..side_releases.paid_bounds import PaidBounds
    from ..side_releases.side_plan import plan_fit

    method, budget = method_of(family, inference=inference), PrivacyBudget(epsilon, delta)
    options: dict[str, Any] = {"cov_type": "cluster"} if inference and units else {}
    found = PaidBounds(share=PAID_SHARE)
    found = found.for_intervals() if inference else found
    bounds = found.releases(budget, n_features) if paid else ()
    planned = plan_fit(method, budget, n_rows=n_rows, n_features=n_features + 1, bounds=bounds, **options)
    plan, beside = planned.method, planned.beside
    return _Planned((*beside.release_names, *plan.release_names), (*beside.releases, *plan.releases))


@lru_cache(maxsize=256)
def _attacker(releases: "tuple[Release, ...]", relation: str) -> float:
    from ..privacy import Neighbours
    from ..privacy.attacker import success_against

    return success_against(releases, relation=Neighbours(relation))


def _share(state: "State", releases: "tuple[Release, ...]") -> tuple[float | None, bool]:
    """Return which share of a ledger releases take, and whether it has that left; None for all of it."""
    from ..privacy import log_delta_of
    from ..privacy.filter import filter_charge

    charge = filter_charge([releases], state.caps)
    if state.allows(charge):
        return max(charge.gaussian, charge.leak), True
    whole = state.zero_out_budget
    if not state.counted and log_delta_of(releases, whole.epsilon) <= math.log(whole.delta):
        return None, True
    return max(charge.gaussian, charge.leak), False


def _number_or_rule(delta: str) -> float | str:
    try:
        return float(delta)
    except ValueError:
        return delta


def gauge_or_none(choices: Choices) -> Gauge | None:
    """Return the gauge of a project's ledger, None where it has none or it cannot be read."""
    if choices.data is None:
        return None
    try:
        return gauge(choices.data.ledger)
    except (DpolsError, OSError):
        return None
