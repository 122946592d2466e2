"""The rules that decide on the claims of the paper.

Rules speak of means over trials and 95% intervals of their differences. Cell by cell, a method

- *beats* another where its mean is lower and the 95% interval of the difference excludes 0;
- *matches or beats* it where it is not more than 5% worse, or not by more than the 95% interval of the difference.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..datasets import REAL, SYNTHETIC
from .dataset_table import TableRow, loss_ratio
from .methods import RISING_LINMIX, SMALL_SIGNAL
from .summary import INTERVAL, CellSummary, Mean, Results

Verdict = Literal["holds", "holds in part", "refuted", "not run"]

MAIN = ("pol", "protein", "concreteslump", "servo", "fertility", "pendulum", "crime", "parkinsons")
SLACK = 1.05


@dataclass(frozen=True)
class Finding:
    """The verdict on one claim in one kind of accounting, with the numbers."""

    verdict: Verdict
    numbers: str


@dataclass(frozen=True)
class Evidence:
    """Results in one kind of accounting."""

    results: Results
    accounting: str
    table: Sequence[TableRow]

    def pairs(
        self, first: str, second: str, datasets: Iterable[str], *, at_most: float = math.inf, at_least: float = 0.0
    ) -> list[tuple[CellSummary, CellSummary]]:
        """Return the cells of two methods at the same data set and epsilon."""
        wanted = set(datasets)
        second_by = {(s.cell.dataset, s.cell.epsilon): s for s in self._cells(second, wanted)}
        return [
            (s, second_by[s.cell.dataset, s.cell.epsilon])
            for s in self._cells(first, wanted)
            if (s.cell.dataset, s.cell.epsilon) in second_by and at_least <= s.cell.epsilon <= at_most
        ]

    def curve(self, dataset: str, method: str) -> list[CellSummary]:
        """Return a method's cells on a data set, by epsilon."""
        return self.results.curve(dataset, method, self.accounting)

    def _cells(self, method: str, datasets: set[str]) -> list[CellSummary]:
        return [
            s
            for c, s in self.results.cells.items()
            if c.method == method and c.accounting == self.accounting and c.dataset in datasets
        ]


def beats(first: Mean, second: Mean) -> bool:
    """Whether the first mean is lower, by more than the 95% interval of the difference."""
    return first.value + INTERVAL * math.hypot(first.error, second.error) < second.value


def matches_or_beats(first: Mean, second: Mean) -> bool:
    """Whether the first mean is not more than 5% above the second, or not by more than the interval."""
    return first.value <= max(SLACK * second.value, second.value + INTERVAL * math.hypot(first.error, second.error))


def share(
    first: str, others: Sequence[str], datasets: Sequence[str], threshold: float, *, exceptions: Sequence[str] = ()
) -> Callable[[Evidence], Finding]:
    """Rule: the first method matches or beats all others in at least the threshold's share of cells.

    Cells of the exceptions at epsilons up to 1 do not count.
    """

    def decide(evidence: Evidence) -> Finding:
        good: dict[tuple[str, float], bool] = {}
        for other in others:
            for one, two in evidence.pairs(first, other, datasets):
                key = (one.cell.dataset, one.cell.epsilon)
                if one.cell.dataset in exceptions and one.cell.epsilon <= 1.0:
                    continue
                good[key] = good.get(key, True) and matches_or_beats(one.train, two.train)
        if not good:
            return _not_run()
        share = sum(good.values()) / len(good)
        worst = sorted({dataset for (dataset, _), ok in good.items() if not ok})
        numbers = f"{sum(good.values())} of {len(good)} cells ({share:.0%})"
        if worst:
            numbers += f"; not in some cell of {', '.join(worst)}"
        return Finding(_graded(share, threshold), numbers)

    return decide


def adassp_wins(evidence: Evidence) -> Finding:
    parts, good = [], []
    for dataset in SMALL_SIGNAL:
        pairs = evidence.pairs("adassp", "ihm", [dataset], at_most=1.0)
        if not pairs:
            continue
        wins = sum(beats(adassp.train, ihm.train) for adassp, ihm in pairs)
        good.append(2 * wins > len(pairs))
        parts.append(f"{dataset} {_ratio(pairs, invert=True):.2f} ({wins} of {len(pairs)})")
    return _per_dataset(good, "IHM / AdaSSP at eps <= 1 (AdaSSP beats): " + ", ".join(parts))


def fewer_iterations(*, halved: bool) -> Callable[[Evidence], Finding]:
    def decide(evidence: Evidence) -> Finding:
        parts, good = [], []
        for dataset in SMALL_SIGNAL:
            three = evidence.pairs("ihm", "adassp", [dataset], at_most=1.0)
            two = evidence.pairs("ihm-t2", "adassp", [dataset], at_most=1.0)
            if not three or not two:
                continue
            before, after = _ratio(three), _ratio(two)
            good.append(after - 1.0 <= 0.5 * max(before - 1.0, 0.0) if halved else after <= 1.1)
            parts.append(f"{dataset} {before:.2f} -> {after:.2f}")
        return _per_dataset(good, "IHM / AdaSSP at eps <= 1, T = 3 -> T = 2: " + ", ".join(parts))

    return decide


def rises(method: str, *, rising: bool) -> Callable[[Evidence], Finding]:
    def decide(evidence: Evidence) -> Finding:
        parts, good = [], []
        for dataset in RISING_LINMIX:
            curve = evidence.curve(dataset, method)
            if len(curve) < 2:
                continue
            low, high = curve[0], curve[-1]
            good.append(beats(low.train, high.train) if rising else not beats(low.train, high.train))
            parts.append(
                f"{dataset} {low.train.value:.3g} at eps {low.cell.epsilon:g}, "
                f"{high.train.value:.3g} at {high.cell.epsilon:g}"
            )
        return _per_dataset(good, "; ".join(parts))

    return decide


def clips(evidence: Evidence) -> Finding:
    curve = [s for s in evidence.curve("mlp", "ihm") if s.clipped_share is not None]
    if not curve:
        return _not_run()
    good = []
    for s in curve:
        share = s.clipped_share or 0.0
        spread = INTERVAL * math.sqrt(max(share * (1.0 - share), 0.0) / s.watched_iterations)
        good.append(share - spread > 0.4)
    shares = ", ".join(f"{s.clipped_share or 0.0:.0%} at eps {s.cell.epsilon:.3g}" for s in curve)
    return _per_dataset(good, f"share of iterations with a clipped residual: {shares}")


def wins_everywhere(first: str, others: Sequence[str], dataset: str) -> Callable[[Evidence], Finding]:
    def decide(evidence: Evidence) -> Finding:
        pairs = [pair for other in others for pair in evidence.pairs(first, other, [dataset])]
        good = [beats(one.train, two.train) for one, two in pairs]
        ratios = [
            f"/ {other} {_ratio(pairs_of):.2f}"
            for other in others
            if (pairs_of := evidence.pairs(first, other, [dataset]))
        ]
        return _per_dataset(good, f"{first} {', '.join(ratios)} (geometric mean); beats in {sum(good)} of {len(good)}")

    return decide


def on_sphere(other: str, better: Callable[[Mean, Mean], bool], said: str) -> Callable[[Evidence], Finding]:
    """Rule: with T = 6 IHM is better than another method on the sphere at every epsilon above 1.5."""

    def decide(evidence: Evidence) -> Finding:
        pairs = evidence.pairs("ihm-t6", other, ["sphere"], at_least=1.5)
        numbers = ", ".join(
            f"eps {one.cell.epsilon:.3g}: {one.train.value:.3g} against {two.train.value:.3g}" for one, two in pairs
        )
        return _per_dataset([better(one.train, two.train) for one, two in pairs], f"{said} at {numbers}")

    return decide


def large_majority(evidence: Evidence) -> Finding:
    pairs = evidence.pairs("ihm", "dp-gd", (*REAL, *SYNTHETIC))
    if not pairs:
        return _not_run()
    wins = sum(beats(one.train, two.train) for one, two in pairs)
    losses = sum(beats(two.train, one.train) for one, two in pairs)
    numbers = f"IHM beats DP-GD in {wins} of {len(pairs)} cells ({wins / len(pairs):.0%}), DP-GD beats IHM in {losses}"
    return Finding(_graded(wins / len(pairs), 0.75), numbers)


def linmix_only_when_favourable(evidence: Evidence) -> Finding:
    sizes = {row.name: row.measured for row in evidence.table if row.measured is not None}
    pairs = [
        (one, two)
        for one, two in evidence.pairs("linmix", "adassp", REAL)
        if one.cell.dataset in sizes and beats(one.train, two.train)
    ]
    if not evidence.pairs("linmix", "adassp", REAL):
        return _not_run()
    if not pairs:
        return Finding("not run", "LinMix beats AdaSSP in no cell that was run")
    outside = []
    for one, _ in pairs:
        size = sizes[one.cell.dataset]
        assert size is not None
        loss = size.loss_over_n * size.n
        ratio = loss_ratio(loss, n_rows=size.n, n_features=size.d, epsilon=one.cell.epsilon)
        if ratio >= 1.0:
            outside.append(one.cell.dataset)
    share = 1.0 - len(outside) / len(pairs)
    numbers = f"LinMix beats AdaSSP in {len(pairs)} cells, in {len(pairs) - len(outside)} of them with a ratio below 1"
    if outside:
        numbers += f"; otherwise on {', '.join(sorted(set(outside)))}"
    return Finding(_graded(share, 0.9), numbers)


def test_agrees(evidence: Evidence) -> Finding:
    methods = ("adassp", "linmix", "ihm")
    same = total = 0
    for dataset in REAL:
        curves = [evidence.curve(dataset, name) for name in methods]
        if not all(curves):
            continue
        for cells in zip(*curves, strict=False):
            total += 1
            best = min(cells, key=lambda s: s.train.value)
            same += all(matches_or_beats(best.test, s.test) for s in cells)
    if not total:
        return _not_run()
    numbers = f"in {same} of {total} cells ({same / total:.0%}) the best on training rows is best on test rows too"
    return Finding(_graded(same / total, 0.9), numbers)


def _ratio(pairs: Sequence[tuple[CellSummary, CellSummary]], *, invert: bool = False) -> float:
    """Return the geometric mean of first over second."""
    logs = [math.log(one.train.value / two.train.value) for one, two in pairs]
    mean = math.fsum(logs) / len(logs)
    return math.exp(-mean if invert else mean)


def _graded(share: float, threshold: float) -> Verdict:
    """A share of cells that reaches the threshold holds; one that exceeds a half holds in part."""
    return "holds" if share >= threshold else "holds in part" if share > 0.5 else "refuted"


def _per_dataset(good: Sequence[bool], numbers: str) -> Finding:
    """All must agree for a claim to hold; more than half of them for it to hold in part."""
    if not good:
        return _not_run()
    return Finding(_graded(sum(good) / len(good), 1.0), numbers)


def _not_run() -> Finding:
    return Finding("not run", "the cells that it speaks of were not run or are not available")
