"""From means over trials to the score: ratios of all cells, their geometric means with intervals, and the goals."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..paper.summary import INTERVAL, Mean
from .contenders import DEFAULT, FOUR_PASSES, RIVALS, STOPPED, YARDSTICK, Contender

Place = tuple[str, float]  # data set and epsilon
_LARGER_EPSILONS = 1.5


@dataclass(frozen=True)
class Ratio:
    """A ratio of two means or a geometric mean of such, with the standard error of its logarithm."""

    value: float
    log_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval."""
        spread = math.exp(INTERVAL * self.log_error)
        return self.value / spread, self.value * spread

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} ({low:.3f} to {high:.3f})"


@dataclass(frozen=True)
class Reference:
    """What is known of a cell without any run."""

    zero: float
    ridge_oracle: float
    mean_square: float


@dataclass(frozen=True)
class Goal:
    """Something to be reached, and whether it was."""

    text: str
    limit: float
    value: float
    reached: bool
    detail: str


class Board:
    """Means of all contenders in all cells."""

    def __init__(
        self,
        means: Mapping[tuple[Contender, Place], Mean],
        references: Mapping[Place, Reference],
        *,
        tuned_on: Sequence[str],
        held_out: Sequence[str],
        families: Sequence[str],
    ) -> None:
        self.means = means
        self.references = references
        self.tuned_on, self.held_out, self.families = tuple(tuned_on), tuple(held_out), tuple(families)

    @property
    def real(self) -> tuple[str, ...]:
        """The real data sets."""
        return tuple(name for name in self.datasets if name not in self.families)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Data sets in order."""
        return tuple(dict.fromkeys(dataset for dataset, _ in self.references))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Epsilons in order."""
        return tuple(sorted({epsilon for _, epsilon in self.references}))

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Contenders in order."""
        return tuple(dict.fromkeys(contender for contender, _ in self.means))

    def places(self, datasets: Iterable[str], at: Callable[[float], bool] = lambda _: True) -> list[Place]:
        """Return the cells of some data sets."""
        wanted = set(datasets)
        return [place for place in self.references if place[0] in wanted and at(place[1])]

    def ratio(self, one: Contender, other: Contender | str, place: Place) -> Ratio | None:
        """Return how one contender's excess risk compares with another's, or with a reference, in a cell."""
        above = self.means.get((one, place))
        if above is None:
            return None
        if isinstance(other, str):
            return Ratio(above.value / getattr(self.references[place], other), above.error / above.value)
        below = self.means.get((other, place))
        if below is None:
            return None
        return Ratio(above.value / below.value, math.hypot(above.error / above.value, below.error / below.value))

    def ratios(self, one: Contender, other: Contender | str, places: Iterable[Place]) -> dict[Place, Ratio]:
        """Return the ratios of those cells in which both were run."""
        found = {place: self.ratio(one, other, place) for place in places}
        return {place: ratio for place, ratio in found.items() if ratio is not None}

    def mean_ratio(self, one: Contender, other: Contender | str, places: Iterable[Place]) -> Ratio:
        """Return the geometric mean over cells."""
        ratios = self.ratios(one, other, places).values()
        if not ratios:
            return Ratio(math.nan, math.nan)
        mean = math.fsum(math.log(ratio.value) for ratio in ratios) / len(ratios)
        error = math.sqrt(math.fsum(ratio.log_error**2 for ratio in ratios)) / len(ratios)
        return Ratio(math.exp(mean), error)

    def worst(self, one: Contender, other: Contender | str, places: Iterable[Place]) -> tuple[Place, Ratio] | None:
        """Return the cell with the largest ratio."""
        ratios = self.ratios(one, other, places)
        return max(ratios.items(), key=lambda item: item[1].value) if ratios else None

    def harm(self, one: Contender, place: Place) -> float | None:
        """Return by how much predicting zero is better, in units of the mean squared target."""
        mean, known = self.means.get((one, place)), self.references[place]
        return None if mean is None else (mean.value - known.zero) / known.mean_square

    def most_harm(self, one: Contender, places: Iterable[Place]) -> tuple[Place, float] | None:
        """Return the cell with the most harm."""
        harms = {place: harm for place in places if (harm := self.harm(one, place)) is not None}
        return max(harms.items(), key=lambda item: item[1]) if harms else None

    def share_at_or_below(self, one: Contender, other: Contender, places: Iterable[Place]) -> float:
        """Return the share of cells in which one is not above another by more than the interval."""
        ratios = self.ratios(one, other, places).values()
        return sum(ratio.interval[0] <= 1.0 for ratio in ratios) / len(ratios) if ratios else math.nan


def goals(board: Board) -> list[Goal]:
    """Return what the default method is to reach, and what it did."""
    everywhere = board.places(board.real)
    large = board.places(board.real, lambda epsilon: epsilon > _LARGER_EPSILONS)
    found = [
        _mean(board, "against the paper's IHM", DEFAULT, YARDSTICK, everywhere, 0.47),
        _mean(board, "against the paper's IHM at epsilon >= 1.585", DEFAULT, YARDSTICK, large, 0.37),
        _worst(board, everywhere),
        _harm(board, "most harm against zero", everywhere),
        _mean(board, "against the ridge oracle", DEFAULT, "ridge_oracle", everywhere, 1.3),
        *(_mean(board, f"against {rival}", DEFAULT, rival, everywhere, 1.0) for rival in RIVALS),
        *(_share(board, rival, everywhere) for rival in RIVALS),
        _mean(board, "against well-stopped gradient descent", DEFAULT, STOPPED, everywhere, 1.0),
        _mean(board, "with 4 passes, against the paper's IHM", FOUR_PASSES, YARDSTICK, everywhere, 0.75),
    ]
    for name, datasets in (("half not tuned on", board.held_out), ("made-up families", board.families)):
        places = board.places(datasets)
        if places:
            found += [
                _mean(board, f"{name}: against the paper's IHM", DEFAULT, YARDSTICK, places, 0.47 * 1.1),
                _mean(board, f"{name}: against the ridge oracle", DEFAULT, "ridge_oracle", places, 1.3 * 1.1),
                _harm(board, f"{name}: most harm against zero", places),
            ]
    return [goal for goal in found if not math.isnan(goal.value)]


def _mean(
    board: Board, text: str, one: Contender, other: Contender | str, places: Sequence[Place], limit: float
) -> Goal:
    ratio = board.mean_ratio(one, other, places)
    count = len(board.ratios(one, other, places))
    return Goal(f"geometric mean {text}", limit, ratio.value, ratio.value <= limit, f"{ratio}, {count} cells")


def _worst(board: Board, places: Sequence[Place]) -> Goal:
    found = board.worst(DEFAULT, YARDSTICK, places)
    text, limit = "worst cell against the paper's IHM", 1.1
    if found is None:
        return Goal(text, limit, math.nan, False, "")
    place, ratio = found
    return Goal(text, limit, ratio.value, ratio.value <= limit, f"{ratio}, {name_of(place)}")


def _harm(board: Board, text: str, places: Sequence[Place]) -> Goal:
    found = board.most_harm(DEFAULT, places)
    if found is None:
        return Goal(text, 0.01, math.nan, False, "")
    place, harm = found
    return Goal(text, 0.01, harm, harm <= 0.01, f"{harm:.4f} of the mean squared target, {name_of(place)}")


def _share(board: Board, rival: Contender, places: Sequence[Place]) -> Goal:
    share = board.share_at_or_below(DEFAULT, rival, places)
    return Goal(f"share of cells at or below {rival}", 0.9, share, share >= 0.9, f"{share:.1%}, within 95% intervals")


def name_of(place: Place) -> str:
    """Return a cell in words."""
    return f"{place[0]} at epsilon {place[1]:.3g}"
