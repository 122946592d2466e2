"""How fast fits on files are against a reader that only decodes the same columns, and how much memory they take.

A table is made once in a cache folder. Speed and memory are measured in processes of their own; the peak memory of one
that only fits counts all of it: the interpreter, the libraries and the buffers of the reader.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpols.data import BoundedRows, Bounds, FileSource, read
from dpols.data.files import FileTask
from dpols.data.files.formats import FORMATS
from dpols.data.threads import map_blocks, worker_count
from dpols.estimators import PrivateLinearRegression
from dpols.statistics import clipped_gradient, gram

SHAPES = ((5_000_000, 20), (20_000_000, 20))
QUICK_SHAPES = ((200_000, 20),)
CASES = (("default", "exact"), ("IHM", "exact"), ("IHM", "float"))  # methods and arithmetics
_TARGET = "y"
_BLOCK_ROWS = 250_000


@dataclass(frozen=True)
class FileRow:
    """Median seconds of passes over a file and of a whole fit, and the fit's peak memory in MB."""

    kind: str
    rows: int
    features: int
    method: str  # "default" or "IHM"
    arithmetic: str
    file_mb: float
    decode: float
    gram: float
    gradient: float
    fit: float
    passes: int
    pass_speed: float  # of the fit's passes on average, as a share of the speed of decoding alone
    peak_mb: float | None


def run(
    folder: Path,
    *,
    quick: bool = False,
    shapes: Sequence[tuple[int, int]] | None = None,
    suffixes: Sequence[str] = (".parquet",),
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Make the files in ``folder`` unless they are there; return one row of results for each file and arithmetic."""
    rows = []
    for suffix in suffixes:
        for n_rows, n_features in shapes or (QUICK_SHAPES if quick else SHAPES):
            progress(f"making {n_rows:,} x {n_features} {suffix}")
            path = make_file(folder, n_rows, n_features, suffix=suffix)
            for method, arithmetic in CASES:
                progress(f"{n_rows:,} x {n_features} {suffix}, {method}, {arithmetic}")
                rows.append(measure(path, method, arithmetic, repeats=1 if quick else 3))
    return rows


def render(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table of plain text."""
    lines = [
        f"{'file':<8} {'rows':>10} {'d':>4} {'MB':>6} {'method':<7} {'sums':<5} {'decode s':>8} {'Gram s':>7} "
        f"{'grad. s':>7} {'fit s':>7} {'passes':>6} {'Mrows/s':>7} {'of decode':>9} {'peak MB':>7}"
    ]
    for r in rows:
        peak = "n/a" if r["peak_mb"] is None else f"{r['peak_mb']:.0f}"
        lines.append(
            f"{r['kind']:<8} {r['rows']:>10} {r['features']:>4} {r['file_mb']:>6.0f} {r['method']:<7} "
            f"{r['arithmetic']:<5} {r['decode']:>8.3f} {r['gram']:>7.3f} {r['gradient']:>7.3f} "
            f"{r['fit']:>7.3f} {r['passes']:>6} {r['rows'] * r['passes'] / r['fit'] / 1e6:>7.2f} "
            f"{r['pass_speed']:>9.2f} {peak:>7}"
        )
    lines += [
        f"decode: the same reader on the same {worker_count()} threads, only decoding the columns. of decode: speed of",
        "the fit's passes as a share of that. peak: memory of a process that does nothing but the fit.",
    ]
    return "\n".join(lines)


def measure(path: Path, method: str, arithmetic: str, *, repeats: int = 3) -> dict[str, Any]:
    """Return one row of results for a file that `make_file` made."""
    speeds = in_new_process(_speeds, path, method, arithmetic, repeats)
    peak = in_new_process(_peak_mb, path, arithmetic, method)
    return asdict(FileRow(**speeds, peak_mb=peak))


def make_file(folder: Path, n_rows: int, n_features: int, *, suffix: str = ".parquet") -> Path:
    """Return the path of a table with uniform features, written block by block unless it is there already."""
    import pyarrow
    from pyarrow import csv, parquet

    path = folder / f"uniform-{n_rows}x{n_features}{suffix}"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    schema = pyarrow.schema([(name, pyarrow.float64()) for name in (*_names(n_features), _TARGET)])
    opened: dict[str, Callable[[str], Any]] = {
        ".parquet": lambda at: parquet.ParquetWriter(at, schema),
        ".csv": lambda at: csv.CSVWriter(at, schema),
        ".arrow": lambda at: pyarrow.ipc.new_file(at, schema),
    }
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with opened[suffix](str(unfinished)) as writer:
        for columns in _columns(n_rows, n_features):
            writer.write_table(pyarrow.table(columns, schema=schema))
    unfinished.replace(path)
    return path


def in_new_process(work: Callable[..., Any], *args: Any) -> Any:
    """Return ``work(*args)`` from a process that has done nothing else."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()


def decode(source: FileSource) -> int:
    """Decode the columns of a source on all cores and return the number of rows; nothing is computed from them."""
    return sum(map_blocks(_decoded, source.tasks))


def _decoded(task: FileTask) -> int:
    batches = FORMATS[task.kind].batches(task.file, task.part, task.names, threads=False, text=())
    return sum(len(batch) for batch in batches)


def _speeds(path: Path, method: str, arithmetic: Any, repeats: int) -> dict[str, Any]:
    passes = []
    source = read(path, target=_TARGET, progress=lambda number, rows, n_rows: passes.append(number))
    row_map = _bounds(source).row_map(n_features=source.n_features, columns=source.columns, fit_intercept=True)
    rows = BoundedRows(source, row_map, "raise", arithmetic)
    theta = np.full((1, row_map.n_coordinates), 0.1)
    work: dict[str, Callable[[], object]] = {
        "decode": lambda: decode(source),
        "gram": lambda: gram(rows),
        "gradient": lambda: clipped_gradient(rows, theta, residual_bound=1.0),
        "fit": lambda: _model(source, method, arithmetic).fit(source),
    }
    work["decode"]()  # the first pass reads from the disk, the others from the system's cache
    seconds: dict[str, list[float]] = {name: [] for name in work}
    n_passes = 0
    for _ in range(repeats):
        for name, do in work.items():
            before, start = passes[-1] if passes else 0, time.perf_counter()
            do()
            seconds[name].append(time.perf_counter() - start)
            n_passes = passes[-1] - before if passes else 0
    median = {name: statistics.median(times) for name, times in seconds.items()}
    return {
        "kind": path.suffix.removeprefix("."),
        "rows": source.n_rows,
        "features": source.n_features,
        "method": method,
        "arithmetic": arithmetic,
        "file_mb": path.stat().st_size / 1e6,
        **median,
        "passes": n_passes,
        "pass_speed": median["decode"] * n_passes / median["fit"],
    }


def _peak_mb(path: Path, arithmetic: str, method: str = "IHM") -> float | None:
    source = read(path, target=_TARGET)
    _model(source, method, arithmetic).fit(source)
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 / 1e6 for line in file if line.startswith("VmHWM"))
    except OSError:
        return None


def _model(source: FileSource, method: str, arithmetic: Any) -> PrivateLinearRegression:
    how: dict[str, Any] = {} if method == "default" else {"method": "ihm"}
    return PrivateLinearRegression(epsilon=1.0, delta=1e-9, bounds=_bounds(source), arithmetic=arithmetic, **how)


def _bounds(source: FileSource) -> Bounds:
    return Bounds(features=dict.fromkeys(source.columns, (-1.0, 1.0)), target=(-3.0, 3.0))


def _names(n_features: int) -> list[str]:
    return [f"x{i}" for i in range(n_features)]


def _columns(n_rows: int, n_features: int) -> Iterator[dict[str, Any]]:
    """Yield blocks of columns; the target is a few features and noise."""
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, _BLOCK_ROWS):
        features = rng.uniform(-1.0, 1.0, (n_features, min(_BLOCK_ROWS, n_rows - start)))
        target = features[: min(3, n_features)].sum(axis=0) + rng.normal(0.0, 0.1, features.shape[1])
        yield {**dict(zip(_names(n_features), features, strict=True)), _TARGET: target}
