"""diffprivlib's linear regression, which runs in an environment of its own, with a scikit-learn that it supports.

It is purely epsilon-private, so it gets no delta. Two things keep the comparison fair: features and target are mapped
to [-1, 1] by their stated ranges, and the intercept is a column of ones among the features. diffprivlib calibrates the
noise on squares of a feature to the lower end of its range alone (its issue 105), and its own intercept shifts the
ranges by released means; with symmetric ranges that stay symmetric the lower end is as far as the upper one.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dpols.errors import ParameterError

from .rows import Rows

Array = np.ndarray[Any, np.dtype[Any]]
Task = tuple[int, float, float, int]  # split, epsilon, widening, seed

DIFFPRIVLIB = "diffprivlib"


def diffprivlib_coefficients(
    rows: Mapping[int, Rows], tasks: Sequence[Task], python: Path | None
) -> Iterator[tuple[Array, float]]:
    """Return slopes and, last, the intercept of each task, in the units of the data, and the seconds of its fit."""
    with tempfile.TemporaryDirectory() as folder:
        arrays, job = Path(folder) / "rows.npz", Path(folder) / "job.json"
        named: dict[str, Any] = dict(pair for number, train in rows.items() for pair in _scaled(number, train))
        np.savez(arrays, **named)
        job.write_text(json.dumps(tasks), encoding="utf-8")
        found = json.loads(run_there(python, "-c", _script(), str(arrays), str(job)))
    for (number, *_), (scaled, seconds) in zip(tasks, found, strict=True):
        yield _in_units(rows[number], np.array(scaled)), seconds


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


def _script() -> str:
    return files(__package__).joinpath("fit_with_diffprivlib.py").read_text(encoding="utf-8")


def _middle_and_half(rows: Rows) -> tuple[Array, Array]:
    low, high = np.array((*rows.ranges, rows.target_range)).T
    return 0.5 * (low + high), 0.5 * (high - low)


def _scaled(number: int, rows: Rows) -> Iterator[tuple[str, Array]]:
    middle, half = _middle_and_half(rows)
    yield f"features_{number}", (rows.features - middle[:-1]) / half[:-1]
    yield f"target_{number}", (rows.target - middle[-1]) / half[-1]


def _in_units(rows: Rows, scaled: Array) -> Array:
    middle, half = _middle_and_half(rows)
    slopes = scaled[:-1] * half[-1] / half[:-1]
    return np.append(slopes, scaled[-1] * half[-1] + middle[-1] - slopes @ middle[:-1])
