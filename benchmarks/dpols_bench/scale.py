"""How fits fare as data grow: in memory, in files and on engines, each against what it should be measured by.

All numbers of a run come from one machine in one go, so that ratios mean something. Engines start before their clock.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.linear_model import LinearRegression

from dpols.data import Bounds
from dpols.data.threads import worker_count
from dpols.estimators import PrivateLinearRegression

from . import scale_engines, scale_files
from .speed import bytes_per_second, make_data, median_seconds, operations_per_second
from .steps import Progress, Step

ITERATIONS = 3
_SHRINK = 20  # how many times fewer rows a quick run has
_DECODINGS = 10  # whose time the default may take on files
_MEMORY_MB = {"default": 1000.0, "IHM": 600.0}
_GROWTH = 1.1


class Size(NamedTuple):
    """A table in memory, and the goals for both arithmetics as shares of scikit-learn's time."""

    rows: int
    features: int
    float_goal: float
    exact_goal: float | None  # none where exact is not the default for so many features, and not run


IN_MEMORY = (Size(1_000_000, 50, 0.25, 0.5), Size(500_000, 77, 0.25, 0.75), Size(50_000, 385, 0.25, None))


@dataclass(frozen=True)
class Line:
    """One comparison: ours over theirs must be at most the goal, where there is one."""

    what: str
    ours: float
    against: str
    theirs: float
    goal: float | None = None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def verdict(self) -> str:
        return "no goal" if self.goal is None else "met" if self.ratio <= self.goal else "missed"


def run(
    *,
    quick: bool = False,
    folder: Path | None = None,
    progress: Progress = lambda _: None,
    keep: Callable[[list[dict[str, Any]]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Measure everything; return one row for each comparison. Tables are kept in ``folder`` where it is given.

    A quick run has small tables and no verdicts, since goals are for large ones. ``keep`` gets the rows so far after
    each part, so that an interruption loses one part at most.
    """
    rows = []
    with _folder(folder) as where:
        parts: dict[str, Callable[[], Iterator[Line]]] = {
            **{f"{s.rows:,} x {s.features} in memory": partial(in_memory, s, quick) for s in IN_MEMORY},
            "Parquet files": partial(in_files, where, quick),
            "Dask": partial(on_dask, where, quick),
            "Spark": partial(on_spark, where, quick),
        }
        for done, (what, measure) in enumerate(parts.items()):
            progress(Step(what, done, len(parts)))
            try:
                rows += [_row(line, judged=not quick) for line in measure()]
            except scale_engines.MissingEngine as error:
                rows.append({"what": what, "verdict": f"not measured: {error}"})
            keep(rows)
    return rows


def _row(line: Line, *, judged: bool) -> dict[str, Any]:
    """Return a line with its ratio and verdict."""
    verdict = line.verdict if judged or line.goal is None else "not judged"
    return {**asdict(line), "ratio": line.ratio, "verdict": verdict}


def render(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table of plain text."""
    cells = [("measured", "ours", "against", "theirs", "ratio", "goal", "verdict")]
    for r in rows:
        if "ratio" not in r:
            cells.append((r["what"], "", "", "", "", "", r["verdict"]))
            continue
        goal = "" if r["goal"] is None else f"<= {r['goal']:g}"
        ours, theirs = (f"{r[name]:.3g} {r['unit']}" for name in ("ours", "theirs"))
        cells.append((r["what"], ours, r["against"], theirs, f"{r['ratio']:.3g}", goal, r["verdict"]))
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]) - 1)]
    lines = []
    for row in cells:
        padded = [
            f"{cell:<{n}}" if i in (0, 2) else f"{cell:>{n}}"
            for i, (cell, n) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join([*padded, row[-1]]))
    missed = sum(r["verdict"] == "missed" for r in rows)
    lines.append(f"{missed} goals missed. Fits in memory and IHM are iterative Hessian mixing in {ITERATIONS} steps.")
    lines.append(f"All on {worker_count()} cores; medians, each contender in turn.")
    return "\n".join(lines)


def in_memory(size: Size, quick: bool) -> Iterator[Line]:
    """Compare a fit on arrays with scikit-learn's LinearRegression, and with what the machine could do at best."""
    n, d = (size.rows // _SHRINK if quick else size.rows), size.features
    features, target = make_data(n, d)
    goals = {"float": size.float_goal, **({} if size.exact_goal is None else {"exact": size.exact_goal})}
    bounds = Bounds(x_norm=1.0, y_abs=1.0)
    contenders: dict[str, Callable[[], object]] = {
        arithmetic: partial(model(bounds, arithmetic, fit_intercept=False).fit, features, target)
        for arithmetic in goals
    }
    contenders["sklearn"] = partial(LinearRegression(fit_intercept=False).fit, features, target)
    seconds = median_seconds(contenders, 3 if quick else 5)
    least = n * d * d / operations_per_second() + ITERATIONS * features.nbytes / bytes_per_second()
    for arithmetic, goal in goals.items():
        what = f"{n:,} x {d} in memory, {arithmetic}"
        yield Line(what, seconds[arithmetic], "scikit-learn LinearRegression", seconds["sklearn"], goal)
        yield Line(what, seconds[arithmetic], f"one Gram matrix and {ITERATIONS} reads at full speed", least)


def in_files(folder: Path, quick: bool) -> Iterator[Line]:
    """Compare a fit on Parquet files with decoding them alone, and its memory with a fixed limit."""
    shapes = ((100_000, 20), (400_000, 20)) if quick else scale_files.SHAPES
    rows = scale_files.run(folder, quick=quick, shapes=shapes)
    for r in rows:
        what = f"{r['rows']:,} x {r['features']} Parquet, {r['method']}, {r['arithmetic']}"
        default = r["method"] == "default"
        # For IHM a Gram matrix and the gradients one by one, though a fit needs one pass less.
        reads, goal = (_DECODINGS, 1.0) if default else (ITERATIONS + 1, 2.0)
        yield Line(what, r["fit"], f"decoding alone, {reads} times", reads * r["decode"], goal)
        yield Line(what, r["fit"], f"decoding alone, {r['passes']} times", r["passes"] * r["decode"])
        if r["peak_mb"] is not None:
            yield Line(what, r["peak_mb"], "memory limit", _MEMORY_MB[r["method"]], 1.0, "MB")
    for arithmetic in ("exact", "float"):
        small, *_, large = (r for r in rows if (r["method"], r["arithmetic"]) == ("IHM", arithmetic))
        if small["peak_mb"] is not None and large["peak_mb"] is not None:
            what = f"{large['rows']:,} x {large['features']} Parquet, IHM, {arithmetic}"
            against = f"memory at {small['rows']:,} rows"
            yield Line(what, large["peak_mb"], against, small["peak_mb"], _GROWTH, "MB")


def on_dask(folder: Path, quick: bool) -> Iterator[Line]:
    """Compare a fit by the workers of Dask with one by the threads of this process on the same row groups."""
    path, shape = _table(folder, quick)
    with scale_engines.dask_client() as client:
        for method, arithmetic in scale_files.CASES:
            fit = partial(_fit, method, arithmetic)
            seconds = scale_engines.dask_seconds(path, client, fit, 1 if quick else 3)
            plain = seconds.pop("threads")
            for name, value in seconds.items():
                goal = 1.5 if name == "Dask, row groups" else None
                yield Line(f"{shape} {name}, {method}, {arithmetic}", value, "threads, row groups", plain, goal)


def on_spark(folder: Path, quick: bool) -> Iterator[Line]:
    """Compare a fit on a cached Spark table with MLlib's LinearRegression on it."""
    path, shape = _table(folder, quick)
    with scale_engines.spark_session() as session:
        for method, arithmetic in scale_files.CASES:
            seconds = scale_engines.spark_seconds(path, session, partial(_fit, method, arithmetic), 1)
            what, default = f"{method}, {arithmetic}", method == "default"
            goal = None if default else 2.0
            yield Line(
                f"{shape} Spark, cached, {what}", seconds["table"], "MLlib LinearRegression", seconds["mllib"], goal
            )
            goal = 1.5 if default else None
            yield Line(
                f"{shape} Spark, row groups, {what}",
                seconds["row groups"],
                "threads, row groups",
                seconds["threads"],
                goal,
            )


def model(bounds: Bounds, arithmetic: Any, *, fit_intercept: bool = True) -> PrivateLinearRegression:
    """Return iterative Hessian mixing as it is measured."""
    return PrivateLinearRegression(
        epsilon=1.0,
        delta="1/n^2",
        bounds=bounds,
        fit_intercept=fit_intercept,
        method="ihm",
        arithmetic=arithmetic,
        options={"n_iterations": ITERATIONS},
    )


def _fit(method: str, arithmetic: Any, *data: Any) -> object:
    """Fit a table that `scale_files.make_file` made, be it a source or a table of an engine."""
    columns = [name for name in data[0].columns if name != "y"]
    bounds = Bounds(features=dict.fromkeys(columns, (-1.0, 1.0)), target=(-3.0, 3.0))
    if method == "default":
        return PrivateLinearRegression(1.0, "1/n^2", bounds, arithmetic=arithmetic).fit(*data)
    return model(bounds, arithmetic).fit(*data)


def _table(folder: Path, quick: bool) -> tuple[Path, str]:
    n_rows, n_features = (200_000, 20) if quick else scale_files.SHAPES[0]
    return scale_files.make_file(folder, n_rows, n_features), f"{n_rows:,} x {n_features}"


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="dpols-bench-") as made:
        yield Path(made)
