"""All batches on all cores, each kept as soon as it is there, and what they say."""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from scipy.special import bdtr, bdtrc, bdtri

from ..journal import Journal
from ..workers import in_processes
from .cells import DESIGNS, SEED, Batch, Cell, Group, run_batch

Cells = dict[tuple[Group, float], Cell]
Progress = Callable[[str, float], None]  # what was done, and the seconds that it was expected to take

LOWEST, HIGHEST = 0.93, 0.98  # what intervals of 95% may cover
_WITH_ALLOWANCE = 0.99  # the same of the highest where they allow for what noisy counts of lengths may hide
POINT = 0.01  # by which intervals may cover less than non-private ones in the same runs
_ENOUGH = 2000  # runs with an interval, from which on no allowance is made for chance
_CHANCE = 0.001  # with fewer, how probable as few or as many that cover must be at 95%
_OTHERS = ("r_squared", "variance", "mean", "observation")
_SELDOM = 0.2  # share of fits that show a number, below which its coverage is that of a lucky few
_RARELY = 0.05  # share of fits with an allowance for what is not seen, up to which coverage is judged as if none had it
_FEW = 0.005  # share of slopes that are printed, below which no width is shown
_COUNTED = 4  # the version of what a batch counts; a journal's batches of other versions are made again


def evaluate(
    groups: Sequence[Group],
    journal: Path | None,
    *,
    jobs: int,
    progress: Progress,
    seed: int = SEED,
    minutes: float | None = None,
) -> Cells:
    """Simulate what the journal does not hold yet, and return the sums of every cell that has runs.

    No batch is begun after so many minutes.
    """
    batches = {_key(batch): batch for group in groups for batch in group.batches(seed)}
    known = {} if journal is None else _journal(journal).read()
    done = {key: {e: Cell(**cell) for e, cell in known[key].cells} for key in batches if key in known}
    for key in done:
        progress(batches[key].group.design, batches[key].group.cost * batches[key].count)
    # All cells grow at the same rate, the quick ones first, so that a run that is stopped has something to say of most.
    missing = [batch for key, batch in batches.items() if key not in done]
    missing.sort(key=lambda batch: (batch.first / batch.group.runs, batch.group.cost * batch.count))
    with nullcontext() if journal is None else _journal(journal).appending() as add:
        for batch, found in in_processes(_simulated, _until(missing, minutes), jobs):
            done[_key(batch)] = found
            if add is not None:
                add(_Kept(_key(batch), [(e, cell.to_dict()) for e, cell in found.items()]))
            progress(batch.group.design, batch.group.cost * batch.count)
    cells: Cells = {}
    for key, batch in batches.items():
        for epsilon, cell in done.get(key, {}).items():
            cells.setdefault((batch.group, epsilon), Cell()).add(cell)
    return dict(sorted(cells.items(), key=lambda pair: (groups.index(pair[0][0]), pair[0][1])))


def _until(batches: Sequence[Batch], minutes: float | None) -> Iterator[Batch]:
    end = math.inf if minutes is None else time.monotonic() + 60.0 * minutes
    for batch in batches:
        if time.monotonic() >= end:
            return
        yield batch


def to_dict(cells: Cells) -> dict[str, Any]:
    """Return plain data: every cell with its verdict, and what holds over all."""
    rows = [_row(group, epsilon, cell) for (group, epsilon), cell in cells.items()]
    printed = sum(cell.printed_runs for cell in cells.values())
    runs = sum(cell.runs for cell in cells.values())
    ratios = sorted(row["error_over_plain_fit"] for row in rows if row["error_over_plain_fit"] is not None)
    return {
        "level": 0.95,
        "fits": runs,
        "holds": all(row["holds"] for row in rows),
        "cells": rows,
        "share_without_intervals": 1.0 - printed / max(runs, 1),
        "cells_without_intervals": sum(row["printed"] == 0.0 for row in rows),
        "cells_with_most_slopes": sum(row["printed_slopes"] >= 0.5 for row in rows),
        "median_error_over_plain_fit": ratios[len(ratios) // 2] if ratios else None,
        "largest_error_over_plain_fit": ratios[-1] if ratios else None,
    }


def markdown(found: dict[str, Any]) -> str:
    """Return the cells as a table, in percent; beside coverage of slopes stand its binomial limits."""
    what = ("slopes", "limits", "intercept", "data", "R^2", "variance", "mean", "new row", "non-private")
    names = ("population", "n", "d", "epsilon", "fits", "printed", *what, "width", "error")
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in found["cells"]:
        few = row["printed_slopes"] < _FEW
        first, *numbers = [row[name] for name in ("slopes", "intercept", "data")]
        limits = row["limits"][0]
        cells = [
            row["design"] + ("" if row["judged"] else " *") + ("" if row["holds"] else " **fails**"),
            f"{row['n_rows']:,}",
            str(row["n_features"]),
            f"{row['epsilon']:g}",
            str(row["runs"]),
            f"{row['printed_slopes']:.0%}",
            _percent(first),
            "" if limits is None else f"{100 * limits[0]:.1f} to {100 * limits[1]:.1f}",
            *(_percent(number) for number in numbers),
            *(_percent(row[name]) if row["shown"][name] >= _SELDOM else "hidden" for name in _OTHERS),
            _percent(row["nonprivate"]),
            *("" if few or number is None else f"{number:.2f}" for number in (row["width_over_nonprivate"],)),
            *("" if number is None else f"{number:.2f}" for number in (row["error_over_plain_fit"],)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def limits_of(share: float, count: int) -> tuple[float, float]:
    """Return exact 95% binomial limits (Clopper and Pearson) of a share of so many fits."""
    covered = round(share * count)
    low = 0.0 if covered == 0 else 1.0 - float(bdtri(count - covered, count, 0.025))
    high = 1.0 if covered == count else float(bdtri(covered, count, 0.025))
    return low, high


def _limits(share: float | None, count: int) -> tuple[float, float] | None:
    return None if share is None or count == 0 else limits_of(share, count)


def _row(group: Group, epsilon: float, cell: Cell) -> dict[str, Any]:
    intervals = cell.slopes + cell.intercepts
    parts = {
        "slopes": _ratio(cell.slopes_covered, cell.slopes),
        "intercept": _ratio(cell.intercepts_covered, cell.intercepts),
        "data_slopes": _ratio(cell.data_slopes_covered, cell.data_slopes),
        "data_intercept": _ratio(cell.data_intercepts_covered, cell.data_intercepts),
    }
    d = group.n_features
    counts = (cell.slopes // d, cell.intercepts, cell.data_slopes // d, cell.data_intercepts)  # in runs
    nonprivate = _ratio(cell.nonprivate_covered, cell.nonprivate)
    judged, others = DESIGNS[group.design].judged, (cell.r_squareds, cell.variances, cell.means, cell.observations)
    return {
        "design": group.design,
        "n_rows": group.n_rows,
        "n_features": group.n_features,
        "epsilon": epsilon,
        "runs": cell.runs,
        "judged": judged,
        "by_range": cell.by_range / cell.runs,
        "floored": cell.floored / cell.runs,
        "printed": cell.printed_runs / cell.runs,
        "printed_slopes": cell.data_slopes / (cell.runs * d),
        "printed_intercepts": cell.data_intercepts / cell.runs,
        "intervals": intervals,
        "limits": [_limits(part, count) for part, count in zip(parts.values(), counts, strict=True)],
        "population": _ratio(cell.slopes_covered + cell.intercepts_covered, intervals),
        "data": _ratio(
            cell.data_slopes_covered + cell.data_intercepts_covered, cell.data_slopes + cell.data_intercepts
        ),
        **parts,
        "shown": dict(zip(_OTHERS, (x / cell.runs for x in others), strict=True)),
        "mean": _ratio(cell.means_covered, cell.means),
        "observation": _ratio(cell.observations_covered, cell.observations),
        "variance": _ratio(cell.variances_covered, cell.variances),
        "r_squared": _ratio(cell.r_squareds_covered, cell.r_squareds),
        "nonprivate": nonprivate,
        "width_over_nonprivate": _ratio(cell.width_over_nonprivate, intervals),
        "error_over_plain_fit": _root_ratio(cell.squared_errors_with, cell.squared_errors_without),
        "holds": not judged or _all_hold(cell, list(parts.values()), counts),
    }


def _all_hold(cell: Cell, shares: Sequence[float | None], counts: Sequence[int]) -> bool:
    """Whether all shares that are covered may be those of 95% intervals: two for the population, two for the data.

    Slopes and intercepts are each covered often enough, and together not too often.
    """
    nonprivate = _ratio(cell.nonprivate_covered, cell.nonprivate)
    lowest = LOWEST if nonprivate is None else min(LOWEST, nonprivate - POINT)
    for_data = HIGHEST if cell.runs - cell.by_range <= _RARELY * cell.runs else _WITH_ALLOWANCE
    for_population = for_data if cell.floored <= _RARELY * cell.runs else 1.0
    of_population = cell.slopes_covered + cell.intercepts_covered, cell.slopes + cell.intercepts
    of_data = cell.data_slopes_covered + cell.data_intercepts_covered, cell.data_slopes + cell.data_intercepts
    return (
        all(_holds(share, count, lowest, 1.0) for share, count in zip(shares, counts, strict=True))
        and _holds(_ratio(*of_population), max(counts[:2]), 0.0, for_population)
        and _holds(_ratio(*of_data), max(counts[2:]), 0.0, for_data)
    )


def _holds(coverage: float | None, runs: int, lowest: float = LOWEST, highest: float = HIGHEST) -> bool:
    """Whether a share may be that of 95% intervals; with few runs, unless chance alone would hardly give it."""
    if coverage is None or lowest <= coverage <= highest:
        return True
    covered = round(coverage * runs)
    chance = float(bdtr(covered, runs, 0.95) if coverage < lowest else bdtrc(covered - 1, runs, 0.95))
    return runs < _ENOUGH and chance >= _CHANCE


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _root_ratio(one: float, other: float) -> float | None:
    return (one / other) ** 0.5 if other > 0.0 else None


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100.0 * share:.1f}"


def _simulated(batch: Batch) -> tuple[Batch, dict[float, Cell]]:
    return batch, run_batch(batch)


def _key(batch: Batch) -> str:
    place = {"runs": None, "first": batch.first, "count": batch.count, "seed": batch.seed, "counted": _COUNTED}
    return json.dumps({**asdict(batch.group), **place})


class _Kept(NamedTuple):
    """What a journal keeps of a batch: its cells by epsilon, as plain data."""

    key: str
    cells: list[tuple[float, dict[str, Any]]]


def _journal(path: Path) -> Journal[str, _Kept]:
    return Journal(path, attrgetter("key"), _Kept._asdict, lambda row: _Kept(row["key"], row["cells"]))
