"""diffprivlib's regressions, which run in an environment of their own, with a scikit-learn that it supports.

It is purely epsilon-private, so it gets no delta. Features are mapped to [-1, 1] by their stated ranges. For a fair
comparison of linear regressions, so is the target, and the intercept is a column of ones among the features:
diffprivlib calibrates the noise on squares of a feature to the lower end of its range alone (its issue 105), and its
own intercept shifts the ranges by released means; with symmetric ranges that stay symmetric the lower end is as far as
the upper one.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dpols.errors import ParameterError

from .rows import Rows

Array = np.ndarray[Any, np.dtype[Any]]
Model = Literal["linear", "logistic"]

DIFFPRIVLIB = "diffprivlib"


class Task(NamedTuple):
    """A fit on the training rows of a split."""

    split: int
    epsilon: float
    widening: float  # of the ranges, for a linear regression
    seed: int


def diffprivlib_coefficients(
    model: Model, rows: Mapping[int, Rows], tasks: Sequence[Task], python: Path | None
) -> Iterator[tuple[Array, float]]:
    """Return slopes and, last, the intercept of each task, in the units of the data, and the seconds of its fit."""
    with tempfile.TemporaryDirectory() as folder:
        arrays, job = Path(folder) / "rows.npz", Path(folder) / "job.json"
        named: dict[str, Any] = {}
        for number, train in rows.items():
            named[f"features_{number}"], named[f"target_{number}"] = scaled(model, train)
        np.savez(arrays, **named)
        job.write_text(json.dumps({"model": model, "tasks": tasks}), encoding="utf-8")
        script = files(__package__).joinpath("fit_with_diffprivlib.py").read_text(encoding="utf-8")
        found = json.loads(run_there(python, "-c", script, str(arrays), str(job)))
    for task, (coefficients, seconds) in zip(tasks, found, strict=True):
        yield in_units(model, rows[task.split], np.array(coefficients)), seconds


def check_python(python: Path | None) -> None:
    """Refuse a Python that is named and has no diffprivlib."""
    if python is not None:
        run_there(python, "-c", "import diffprivlib.models")


def run_there(python: Path | None, *arguments: str) -> str:
    """Return what diffprivlib's Python prints."""
    try:
        done = subprocess.run([str(python), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ParameterError(f"--diffprivlib {str(python)!r} cannot be run ({error}); name a Python.") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it says nothing"]
        raise ParameterError(
            f"--diffprivlib {str(python)!r} fails: {last[0]}; "
            "name a Python that has diffprivlib and scikit-learn below 1.6."
        )
    return done.stdout


def scaled(model: Model, rows: Rows) -> tuple[Array, Array]:
    """Return features in [-1, 1], and the target, which for a linear regression lies there, too."""
    middle, half = _target_scale(model, rows)
    return rows.scaled_features(), (rows.target - middle) / half


def in_units(model: Model, rows: Rows, coefficients: Array) -> Array:
    """Return coefficients of scaled rows in the units of the data."""
    middle, half = _target_scale(model, rows)
    found = rows.in_units(half * coefficients)
    found[-1] += middle
    return found


def _target_scale(model: Model, rows: Rows) -> tuple[float, float]:
    low, high = rows.target_range
    return (0.5 * (low + high), 0.5 * (high - low)) if model == "linear" else (0.0, 1.0)
