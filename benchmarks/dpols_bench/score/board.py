"""From means over trials to the score: ratios of all cells, their geometric means with intervals, and the goals."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..pages import Goal
from ..paper.summary import INTERVAL, Mean
from .contenders import DEFAULT, YARDSTICK, Contender

Place = tuple[str, float]  # data set and epsilon
WORSE, MUCH_WORSE = 1.3, 2.5  # times the stored reference
_NEXT_TO_ZERO = 0.01  # of the mean squared target: closer to zero's error than this, ratios say nothing


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
    shaped_oracle: float
    mean_square: float
    stored: Mean | None  # of the adaptive method


@dataclass(frozen=True)
class Groups:
    """Which data sets are alike; a real one may be in several groups."""

    tuned_on: tuple[str, ...] = ()  # real, and the default's constants were chosen on them
    held_out: tuple[str, ...] = ()  # real, and they were not
    small: tuple[str, ...] = ()  # real, with few rows
    families: tuple[str, ...] = ()  # made up
    leverage: tuple[str, ...] = ()  # made up, with a few rows of great leverage

    @property
    def real(self) -> tuple[str, ...]:
        """The real data sets."""
        return (*self.tuned_on, *self.held_out)


class Board:
    """Means of all contenders in all cells, for raw predictions and for those clipped to the range of the target."""

    def __init__(
        self,
        means: Mapping[tuple[Contender, Place], Mean],
        in_range: Mapping[tuple[Contender, Place], Mean],
        references: Mapping[Place, Reference],
        groups: Groups,
    ) -> None:
        self.means, self.in_range = means, in_range
        self.references, self.groups = references, groups

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
        above, below = self.means.get((one, place)), self._below(other, place)
        if above is None or below is None:
            return None
        return Ratio(above.value / below.value, math.hypot(above.error / above.value, below.error / below.value))

    def _below(self, other: Contender | str, place: Place) -> Mean | None:
        if isinstance(other, Contender):
            return self.means.get((other, place))
        known: float | Mean | None = getattr(self.references[place], other)
        return Mean(known, 0.0) if isinstance(known, float) else known

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

    def harm(self, one: Contender, place: Place, *, in_range: bool = False) -> float | None:
        """Return by how much predicting zero is better, in units of the mean squared target."""
        mean = (self.in_range if in_range else self.means).get((one, place))
        return None if mean is None else self._over_zero(mean, place)

    def most_harm(self, one: Contender, *, in_range: bool = False) -> tuple[Place, float] | None:
        """Return the cell with the most harm."""
        found = {place: self.harm(one, place, in_range=in_range) for place in self.references}
        harms = {place: harm for place, harm in found.items() if harm is not None}
        return max(harms.items(), key=lambda item: item[1]) if harms else None

    def mean_share(self, one: Contender, places: Iterable[Place], *, in_range: bool = False) -> float:
        """Return the mean excess risk in units of the mean squared target: an arithmetic mean over cells.

        The excess of predictions in range can be negative, so that they have no geometric mean.
        """
        means = self.in_range if in_range else self.means
        found = [
            means[one, place].value / self.references[place].mean_square for place in places if (one, place) in means
        ]
        return math.fsum(found) / len(found) if found else math.nan

    def against_stored(self, one: Contender) -> dict[Place, Ratio]:
        """Return the ratios to the stored reference, but for cells where both are next to predicting zero."""
        return {
            place: ratio
            for place, ratio in self.ratios(one, "stored", self.references).items()
            if not self._next_to_zero(one, place)
        }

    def _next_to_zero(self, one: Contender, place: Place) -> bool:
        both = (self.means[one, place], self.references[place].stored)
        return all(mean is not None and abs(self._over_zero(mean, place)) <= _NEXT_TO_ZERO for mean in both)

    def _over_zero(self, mean: Mean, place: Place) -> float:
        known = self.references[place]
        return (mean.value - known.zero) / known.mean_square


def goals(board: Board) -> list[Goal]:
    """Return what the default method is to reach, and what it did."""
    groups = board.groups
    found = [
        _mean(board, "", groups.real, 0.22),
        _mean(board, "half not tuned on: ", groups.held_out, 0.25),
        _mean(board, "below 1,000 rows: ", groups.small, 0.40),
        _mean(board, "made-up families: ", groups.families, 0.04),
        _harm(board, "predictions in the range of the target", 0.005, in_range=True),
        _harm(board, "raw predictions", 0.01, in_range=False),
        _share_worse(board, 0.05),
        _worst(board),
    ]
    return [goal for goal in found if not math.isnan(goal.value)]


def _mean(board: Board, where: str, datasets: Sequence[str], limit: float) -> Goal:
    places = board.places(datasets)
    ratio = board.mean_ratio(DEFAULT, YARDSTICK, places)
    detail = f"{ratio}, {len(board.ratios(DEFAULT, YARDSTICK, places))} cells"
    text = f"{where}geometric mean over the paper's IHM"
    return Goal(text, limit, ratio.value, ratio.value <= limit, detail)


def _harm(board: Board, what: str, limit: float, *, in_range: bool) -> Goal:
    text = f"most harm against zero, {what}"
    found = board.most_harm(DEFAULT, in_range=in_range)
    if found is None:
        return Goal(text, limit, math.nan, False, "")
    place, harm = found
    return Goal(text, limit, harm, harm <= limit, f"{harm:.4f} of the mean squared target, {name_of(place)}")


def _share_worse(board: Board, limit: float) -> Goal:
    ratios = board.against_stored(DEFAULT)
    worse = sum(ratio.interval[0] > WORSE for ratio in ratios.values())
    share = worse / len(ratios) if ratios else math.nan
    text = f"share of cells certainly above {WORSE} times the stored adaptive"
    return Goal(text, limit, share, share <= limit, f"{share:.1%}: {worse} of {len(ratios)} cells")


def _worst(board: Board) -> Goal:
    text = "worst cell against the stored adaptive"
    ratios = board.against_stored(DEFAULT)
    if not ratios:
        return Goal(text, MUCH_WORSE, math.nan, False, "")
    place, ratio = max(ratios.items(), key=lambda item: item[1].value)
    return Goal(text, MUCH_WORSE, ratio.value, ratio.value <= MUCH_WORSE, f"{ratio}, {name_of(place)}")


def name_of(place: Place) -> str:
    """Return a cell in words."""
    return f"{place[0]} at epsilon {place[1]:.3g}"
