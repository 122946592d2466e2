"""Plans in the background: one curve over epsilon for what was chosen, filled in point by point, and remembered."""

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock, Thread

from ..errors import DpolsError
from .choices import Choices
from .costs import method_of
from .declaring import declared_map

EPSILONS = (1.0, 0.1, 10.0, 0.3, 3.0)  # in the order in which they are simulated
SMALLEST, LARGEST = 0.05, 10.0
_TRIALS = 4  # five points with intervals then take two seconds
_KEPT = 32
SCORES = {"number": "R²", "yes-no": "AUC", "count": "explained deviance"}
UNITS = {"number": "standard deviations of the outcome", "yes-no": "log-odds", "count": "logarithms of the mean count"}


@dataclass(frozen=True)
class Point:
    """What to expect at an epsilon."""

    epsilon: float
    score: float
    width: float | None  # of 95% intervals, in standard deviations; None where there are none
    have_one: float | None  # share of slopes that have an interval; None where that was not simulated


@dataclass
class Curve:
    """What was simulated so far."""

    score_name: str
    worst: float  # the score of a constant
    unit: str  # of slopes
    best: float = math.nan  # without privacy
    points: list[Point] = field(default_factory=list)
    problem: str = ""
    done: bool = False

    def at(self, epsilon: float) -> Point | None:
        """Return what to expect at an epsilon, between simulated ones on a logarithmic scale."""
        known = sorted(self.points, key=lambda point: point.epsilon)
        if not known:
            return None
        below = [point for point in known if point.epsilon <= epsilon] or known[:1]
        above = [point for point in known if point.epsilon >= epsilon] or known[-1:]
        left, right = below[-1], above[0]
        if left.epsilon >= right.epsilon:
            return Point(epsilon, left.score, left.width, left.have_one)
        share = math.log(epsilon / left.epsilon) / math.log(right.epsilon / left.epsilon)
        score = left.score + share * (right.score - left.score)
        if left.width is None or right.width is None:
            near = right if share > 0.5 else left
            return Point(epsilon, score, near.width, near.have_one)
        width = math.exp(math.log(left.width) + share * math.log(right.width / left.width))
        return Point(epsilon, score, width, min(left.have_one or 0.0, right.have_one or 0.0))


class Planner:
    """Computes curves, each once, in a thread of its own."""

    def __init__(self) -> None:
        self._curves: OrderedDict[str, Curve] = OrderedDict()
        self._lock = Lock()

    def curve(self, choices: Choices, *, inference: bool, r_squared: float, delta: str) -> Curve:
        """Return the curve of some choices, as far as it is known, and go on computing it."""
        assert choices.model is not None
        assert choices.data is not None
        feature_map = declared_map(choices)
        n_units = -(-choices.data.rows // choices.data.rows_per_unit)
        known = (feature_map.to_dict(), choices.model.kind, n_units, inference, r_squared, delta)
        key = json.dumps(known, sort_keys=True)
        with self._lock:
            found = self._curves.get(key)
            if found is not None:
                self._curves.move_to_end(key)
                return found
            kind = choices.model.kind
            made = Curve(SCORES[kind], 0.5 if kind == "yes-no" else 0.0, UNITS[kind])
            self._curves[key] = made
            while len(self._curves) > _KEPT:
                self._curves.popitem(last=False)
        family = choices.model.family
        if family == "gaussian":
            simulate = lambda: _linear(made, feature_map, n_units, inference, r_squared, delta)  # noqa: E731
        else:
            simulate = lambda: _generalised(made, feature_map, family, n_units, inference, r_squared, delta)  # noqa: E731
        Thread(target=_filled, args=(made, simulate), daemon=True, name="dpols-plan").start()
        return made


def _filled(curve: Curve, points: Callable[[], Iterator[Point]]) -> None:
    try:
        for point in points():
            curve.points = [*curve.points, point]
    except DpolsError as error:
        curve.problem = str(error)
    finally:
        curve.done = True


def _linear(
    curve: Curve, feature_map: object, n_rows: int, inference: bool, r_squared: float, delta: str
) -> Iterator[Point]:
    from ..planning.accuracy import nonprivate_r_squared
    from ..planning.question import Question

    question = Question.of(bounds=feature_map, r_squared=r_squared, delta=_delta(delta), trials=_TRIALS)  # type: ignore[arg-type]
    samples = question.samples(n_rows)
    curve.best = nonprivate_r_squared(samples[0])
    method = method_of("gaussian", inference=inference).name  # a fit with intervals predicts less well
    for epsilon in EPSILONS:
        row = question.row(samples, method, epsilon, intervals=inference)
        yield Point(epsilon, row.r_squared, row.interval_width, row.interval_share)


def _generalised(
    curve: Curve, feature_map: object, family: str, n_rows: int, inference: bool, r_squared: float, delta: str
) -> Iterator[Point]:
    from ..planning.outcomes import MadeUpOutcomes
    from ..privacy.budget import budget_for

    table = MadeUpOutcomes.of(feature_map, family, n_rows, r_squared=r_squared, seed=0)  # type: ignore[arg-type]
    curve.best = table.score(table.best)
    for epsilon in EPSILONS:
        budget = budget_for(epsilon, _delta(delta), n_rows)
        planned = table.planned(budget, trials=_TRIALS, seed=0, intervals=inference)
        yield Point(epsilon, planned.score, planned.interval_width, planned.interval_share)


def _delta(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
