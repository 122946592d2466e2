"""How fast a private fit is, against what a user would run instead, in one run on one machine.

Compared: the default estimator and IHM with validation, bounding and planning; scikit-learn's non-private
LinearRegression and Ridge(cholesky); and an IHM that forms its sketches S X explicitly, in row blocks on the same
threads.
"""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from dpols.algorithms import algorithm, ihm
from dpols.data import Bounds
from dpols.data.threads import map_blocks, worker_count
from dpols.estimators import PrivateLinearRegression
from dpols.privacy import PrivacyBudget

Array = np.ndarray[Any, np.dtype[Any]]

SHAPES = ((57_247, 27), (500_000, 77), (1_000_000, 50))
QUICK_SHAPES = ((20_000, 10), (57_247, 27))
_BLOCK = 4096
_PAUSE = 0.05
_OURS = ("default", "default_feature_bounds", "default_exact", "ihm")
_OTHERS = ("linear_regression", "ridge_cholesky", "explicit_sketch")
_KEY = """\
default: all passes of whitened descent, float arithmetic, norm bounds;
feat: with feature bounds; exact: in exact arithmetic. OLS, Ridge: scikit-learn's
non-private LinearRegression and Ridge(solver='cholesky'). S X: IHM with explicit
sketches in blocks. All on {cores} cores, without intercept."""


@dataclass(frozen=True)
class SpeedRow:
    """Median seconds at one shape, ratios against ours, and peak memory of a fit as a share of the size of X."""

    rows: int
    features: int
    default: float
    default_feature_bounds: float
    default_exact: float
    ihm: float
    linear_regression: float
    ridge_cholesky: float
    explicit_sketch: float
    default_over_linear_regression: float
    default_feature_bounds_over_linear_regression: float
    default_exact_over_linear_regression: float
    ihm_over_linear_regression: float
    ihm_over_ridge: float
    explicit_over_ihm: float
    memory_norm_bounds: float | None
    memory_feature_bounds: float | None


def run(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> list[dict[str, Any]]:
    """Measure every shape; return one row each."""
    rows = []
    for n, d in QUICK_SHAPES if quick else SHAPES:
        progress(f"{n:,} x {d}")
        rows.append(asdict(measure(n, d, repeats=3 if quick else 5)))
    return rows


def render(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table of plain text."""
    ratios = [f"{name}_over_linear_regression" for name in _OURS]
    parts = (
        ("seconds", ("default", "feat", "exact", "IHM", "OLS", "Ridge", "S X"), (*_OURS, *_OTHERS)),
        (
            "seconds over those of OLS, unless named otherwise",
            ("default", "feat", "exact", "IHM", "IHM/Ridge", "SX/IHM"),
            (*ratios, "ihm_over_ridge", "explicit_over_ihm"),
        ),
        (
            "peak memory of IHM above that before, over that of X",
            ("norm", "feat"),
            ("memory_norm_bounds", "memory_feature_bounds"),
        ),
    )
    return "\n".join([*(_table(rows, *part) for part in parts), _KEY.format(cores=worker_count())])


def _table(rows: list[dict[str, Any]], title: str, headings: Sequence[str], names: Sequence[str]) -> str:
    lines = [title, f"{'rows':>9} {'d':>4} " + " ".join(f"{heading:>9}" for heading in headings)]
    for row in rows:
        cells = ("n/a" if row[name] is None else f"{row[name]:.4g}" for name in names)
        lines.append(f"{row['rows']:>9} {row['features']:>4} " + " ".join(f"{cell:>9}" for cell in cells))
    return "\n".join((*lines, ""))


def measure(n: int, d: int, *, repeats: int) -> SpeedRow:
    """Time all contenders in turn on the same data, and keep medians."""
    features, target = make_data(n, d)
    norms, ranges = Bounds(x_norm=1.0, y_abs=1.0), Bounds(features=[(-1.0, 1.0)] * d, y_abs=1.0)

    def private(bounds: Bounds = norms, arithmetic: Literal["exact", "float"] = "float", **more: Any) -> object:
        model = PrivateLinearRegression(1.0, "1/n^2", bounds, fit_intercept=False, arithmetic=arithmetic, **more)
        return model.fit(features, target)

    plan = algorithm("ihm").plan(PrivacyBudget(1.0, n**-2.0), n_rows=n, n_features=d)
    contenders: dict[str, Callable[[], object]] = {
        "default": private,
        "default_feature_bounds": lambda: private(ranges),
        "default_exact": lambda: private(arithmetic="exact"),
        "ihm": lambda: private(method="ihm"),
        "linear_regression": lambda: LinearRegression(fit_intercept=False).fit(features, target),
        "ridge_cholesky": lambda: Ridge(fit_intercept=False, solver="cholesky").fit(features, target),
        "explicit_sketch": lambda: explicit_ihm(features, target, plan),
    }
    median = median_seconds(contenders, repeats)
    return SpeedRow(
        rows=n,
        features=d,
        **median,
        **{f"{name}_over_linear_regression": median[name] / median["linear_regression"] for name in _OURS},
        ihm_over_ridge=median["ihm"] / median["ridge_cholesky"],
        explicit_over_ihm=median["explicit_sketch"] / median["ihm"],
        memory_norm_bounds=peak_memory_share(n, d, feature_bounds=False),
        memory_feature_bounds=peak_memory_share(n, d, feature_bounds=True),
    )


def median_seconds(contenders: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Run the contenders in turn, again and again, so that a slow moment hits all of them; return their medians.

    Threads of BLAS spin on for a while when their work is done; a pause keeps them from slowing the next contender.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, work in contenders.items():
            time.sleep(_PAUSE)
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


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
