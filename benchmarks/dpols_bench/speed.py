"""How fast a private fit is, against what a user would run instead, in one run on one machine.

Compared: the default estimator as users get it (exact arithmetic, feature bounds, intercept) and IHM, with validation,
bounding and planning; scikit-learn's Ridge(cholesky), which does the same work without privacy, its LinearRegression
and the OLS of statsmodels; what the machine could do at best; and an IHM that forms its sketches S X explicitly, in row
blocks on the same threads. Each time is the best of several, contenders in turn with a pause before each.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from dpols.algorithms import algorithm, ihm
from dpols.data import Bounds
from dpols.data.threads import map_blocks, worker_count
from dpols.estimators import PrivateLinearRegression
from dpols.privacy import PrivacyBudget

Array = np.ndarray[Any, np.dtype[Any]]
Contenders = Mapping[str, Callable[[], object]]


class Shape(NamedTuple):
    """The size of a table, and how many times as long as Ridge the default and IHM may take."""

    rows: int
    features: int
    default_goal: float | None = None
    ihm_goal: float | None = None
    explicit: bool = False  # whether explicit sketches are measured, which take long


SHAPES = (
    Shape(5_000, 10, 8.0),
    Shape(57_247, 27, explicit=True),
    Shape(1_000_000, 20, 3.0, 1.0),
    Shape(500_000, 77, 2.0, 1.0),
    Shape(50_000, 385, 2.5),
)
QUICK_SHAPES = (Shape(5_000, 10), Shape(20_000, 10, explicit=True))
_BLOCK = 4096
_PAUSE = 0.05
_OURS = ("default", "float", "IHM")
_OTHERS = ("Ridge", "OLS", "statsmodels", "S X")
_KEY = """\
default: exact arithmetic, feature bounds, intercept, epsilon 1; float: the same in
floating point; IHM: in exact arithmetic up to 128 columns, else in floating point.
Ridge: scikit-learn's Ridge(solver='cholesky'); OLS: its LinearRegression; statsmodels:
its OLS. S X: IHM with explicit sketches in blocks. limit: one Gram matrix at the speed
of BLAS and one read of the table at that of memory. Best of several on {cores} cores."""


def run(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> list[dict[str, Any]]:
    """Measure every shape; return one row each."""
    rows = []
    for shape in QUICK_SHAPES if quick else SHAPES:
        progress(f"{shape.rows:,} x {shape.features}")
        rows.append(measure(shape, repeats=3 if quick else 9))
    return rows


def render(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table of plain text."""
    parts = (
        ("seconds", (*_OURS, *_OTHERS, "limit", "load"), ""),
        ("seconds over those of Ridge", (*_OURS, *_OTHERS[1:], "limit", "goal", "IHM goal"), " / Ridge"),
    )
    tables = [_table(rows, *part) for part in parts]
    memory = ("memory norm", "memory feat")
    tables.append(_table(rows, "peak memory of IHM above that before, over that of X", memory, ""))
    return "\n".join([*tables, _KEY.format(cores=worker_count())])


def _table(rows: list[dict[str, Any]], title: str, names: Sequence[str], suffix: str) -> str:
    lines = [title, f"{'rows':>9} {'d':>4} " + " ".join(f"{name:>11}" for name in names)]
    for row in rows:
        values = [row.get(f"{name}{suffix}", row.get(name)) for name in names]
        cells = ("" if value is None else f"{value:.4g}" for value in values)
        lines.append(f"{row['rows']:>9} {row['features']:>4} " + " ".join(f"{cell:>11}" for cell in cells))
    return "\n".join((*lines, ""))


def measure(shape: Shape, *, repeats: int) -> dict[str, Any]:
    """Time all contenders in turn on the same data, and keep the best of each."""
    n, d = shape.rows, shape.features
    features, target = make_data(n, d)
    seconds = best_seconds(contenders(features, target, explicit=shape.explicit), repeats)
    seconds["limit"] = n * d * d / operations_per_second() + features.nbytes / bytes_per_second()
    return {
        "rows": n,
        "features": d,
        **seconds,
        **{f"{name} / Ridge": value / seconds["Ridge"] for name, value in seconds.items()},
        "goal": shape.default_goal,
        "IHM goal": shape.ihm_goal,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "memory norm": peak_memory_share(n, d, feature_bounds=False),
        "memory feat": peak_memory_share(n, d, feature_bounds=True),
    }


def contenders(features: Array, target: Array, *, explicit: bool) -> Contenders:
    """Return what is compared, by name: the default first."""
    n, d = features.shape
    bounds = Bounds(features=[(-1.0, 1.0)] * d, y_abs=1.0)

    def private(**how: Any) -> object:
        return PrivateLinearRegression(1.0, "1/n^2", bounds, **how).fit(features, target)

    found: dict[str, Callable[[], object]] = {
        "default": lambda: private(arithmetic="exact"),
        "float": lambda: private(arithmetic="float"),
        "IHM": lambda: private(method="ihm", arithmetic="exact" if d < 128 else "float"),
        "Ridge": lambda: Ridge(solver="cholesky").fit(features, target),
        "OLS": lambda: LinearRegression().fit(features, target),
    }
    if find_spec("statsmodels") is not None:
        api = import_module("statsmodels.api")
        found["statsmodels"] = lambda: api.OLS(target, api.add_constant(features)).fit()
    if explicit:
        plan = algorithm("ihm").plan(PrivacyBudget(1.0, n**-2.0), n_rows=n, n_features=d)
        found["S X"] = lambda: explicit_ihm(features, target, plan)
    return found


def operations_per_second() -> float:
    """Return how many operations on doubles BLAS does per second on all cores, in a product of square matrices."""
    size = 1536
    square = np.ones((size, size))
    return 2.0 * size**3 / best_seconds({"": lambda: square @ square}, 5)[""]


def bytes_per_second() -> float:
    """Return how fast memory is read on all cores."""
    values = np.ones(1 << 25)
    blocks = np.array_split(values, 16 * worker_count())
    return values.nbytes / best_seconds({"": lambda: sum(map_blocks(_square_sum, blocks))}, 5)[""]


def _square_sum(block: Any) -> float:
    return float(block @ block)


def best_seconds(contenders: Contenders, repeats: int) -> dict[str, float]:
    """Return the shortest time of each contender; what slows a run down is never its own doing."""
    return {name: min(times) for name, times in _seconds(contenders, repeats).items()}


def median_seconds(contenders: Contenders, repeats: int) -> dict[str, float]:
    """Return the median time of each contender."""
    return {name: statistics.median(times) for name, times in _seconds(contenders, repeats).items()}


def _seconds(contenders: Contenders, repeats: int) -> dict[str, list[float]]:
    """Run the contenders in turn, again and again, so that a slow moment hits all of them.

    Threads of BLAS spin on for a while when their work is done; a pause keeps them from slowing the next contender.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, work in contenders.items():
            time.sleep(_PAUSE)
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def make_data(n: int, d: int) -> tuple[Array, Array]:
    """Return C-ordered float64 features of norm at most 1 and targets in [-1, 1]; made in place, block by block."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(d)
    features, target = np.empty((n, d)), np.empty(n)
    for start in range(0, n, 65536):
        block = features[start : start + 65536]
        rng.standard_normal(out=block)
        block /= np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1.5 * np.sqrt(d))
        target[start : start + 65536] = block @ theta + 0.1 * rng.standard_normal(len(block))
    return features, np.clip(target, -1.0, 1.0)


def explicit_ihm(features: Array, target: Array, plan: ihm.IHMPlan) -> Array:
    """Return the last iterate of IHM with explicit sketches S X + sqrt(shift) Xi, for comparison of speed only.

    Row blocks go to the same thread pool, each with a fast generator of its own; S is never held as a whole.
    """
    n, d = features.shape
    k = plan.sketch_size
    starts = range(0, n, _BLOCK)
    seeds = np.random.SeedSequence(0).spawn(plan.n_iterations * len(starts) + 1)
    driver = np.random.default_rng(seeds.pop())
    weights = np.minimum(1.0, 1.0 / np.maximum(np.sqrt(np.einsum("ij,ij->i", features, features)), 1e-300))
    theta = np.zeros(d)

    def bounded(start: int) -> tuple[Array, Array]:
        block = slice(start, start + _BLOCK)
        return features[block] * weights[block, None], np.clip(target[block], -1.0, 1.0)

    def gram_part(start: int) -> Array:
        rows, _ = bounded(start)
        return np.asarray(rows.T @ rows)

    smallest = np.linalg.eigvalsh(sum(map_blocks(gram_part, starts)))[0]
    noise = plan.eigenvalue_multiplier or 0.0
    certain = max(smallest + noise * (driver.standard_normal() - plan.eigenvalue_margin), 0.0) if noise else 1.0
    shift = max(plan.floor - certain, 0.0)
    for step in range(plan.n_iterations):

        def part(start: int, step: int = step, theta: Array = theta) -> tuple[Array, Array]:
            rows, y = bounded(start)
            rng = np.random.Generator(np.random.SFC64(seeds[step * len(starts) + start // _BLOCK]))
            residual = np.clip(y - rows @ theta, -plan.residual_bound, plan.residual_bound)
            return rng.standard_normal((k, len(rows))) @ rows, rows.T @ residual

        sketch, gradient = np.zeros((k, d)), np.zeros(d)
        for s, g in map_blocks(part, starts):
            sketch += s
            gradient += g
        sketch += np.sqrt(shift) * driver.standard_normal((k, d))
        gradient += plan.gradient_multiplier * plan.residual_bound * driver.standard_normal(d)
        theta = theta + np.linalg.solve(sketch.T @ sketch / k, gradient)
    return theta


def peak_memory_share(n: int, d: int, *, feature_bounds: bool) -> float | None:
    """Return the peak memory of a fit above that before it, over the size of X; None where it cannot be measured."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_peak, args=(sender, n, d, feature_bounds))
    process.start()
    sender.close()
    try:
        answer: float | None = receiver.recv()
    except EOFError:
        answer = None
    process.join()
    return answer


def _send_peak(sender: Any, n: int, d: int, feature_bounds: bool) -> None:
    features, target = make_data(n, d)
    bounds = Bounds(features=[(-1.0, 1.0)] * d, y_abs=1.0) if feature_bounds else Bounds(x_norm=1.0, y_abs=1.0)
    model = PrivateLinearRegression(epsilon=1.0, delta="1/n^2", bounds=bounds, method="ihm", arithmetic="float")
    model.fit(features[:100], target[:100])  # imports and thread pools are not the fit's
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets the high-water mark
        before = _status("VmRSS")
        model.fit(features, target)
        sender.send((_status("VmHWM") - before) / features.nbytes)
    except OSError:
        sender.send(None)


def _status(key: str) -> int:
    """Return a memory figure of this process in bytes (Linux)."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))
