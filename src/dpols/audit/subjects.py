"""What is audited: programs that release values, each with two data sets on which it loses as much as it may.

Data A, tight for sketches, gradients and the smallest eigenvalue: one row (1, 0) with target 1 among eight rows (0, 1)
with target -1. Data B, where the eigenvalue test removes the shift: 4000 rows (1, 0) and 4050 rows (0, 1). In both the
neighbour lacks the first row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import StagedPlan, algorithm
from ..data import ArraySource, BoundedRows, Bounds
from ..data.rows import Arithmetic
from ..errors import ParameterError
from ..linalg import Array
from ..mechanisms import Channel
from ..privacy import MixingRelease, PrivacyBudget, gaussian_multiplier, least_noise
from ..randomness import Bits
from ..statistics import clipped_gradient, gram
from .replay import without_row
from .tape import Program

Data = tuple[Array, Array]

# Large enough a loss to be seen in a hundred thousand runs.
BUDGET = PrivacyBudget(4.0, 1e-2)
SKETCH_SIZE = 12
# With residuals clipped at a tenth of the target's bound, one row moves every gradient by the whole sensitivity, not
# only the first; with a lower bound on the eigenvalue that hardly ever fails, the shift on data A is always the same.
_TIGHT = {"residual_bound": 0.1, "failure_probability": 1e-9}
_OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "ihm": {
        "A": {"sketch_size": SKETCH_SIZE, "n_iterations": 2, "eigenvalue": "on", **_TIGHT},
        "A, no test": {"sketch_size": SKETCH_SIZE, "n_iterations": 2, "eigenvalue": "off", **_TIGHT},
        "B": {"sketch_size": SKETCH_SIZE, "n_iterations": 2, "eigenvalue": "on", **_TIGHT},
    }
}


@dataclass(frozen=True)
class Subject:
    """A program, the budget that it claims to keep, and a data set whose first row makes the difference."""

    name: str
    program: Program
    budget: PrivacyBudget
    data: Data
    end_to_end: bool = False
    share: float = 1.0  # of the runs; fewer where they are slow
    exact_only: bool = False  # whether there is no floating-point form
    rows_are_public: bool = True  # else the neighbour lacks the row altogether, and not only what it holds

    def neighbours(self, arithmetic: Arithmetic) -> tuple[BoundedRows, BoundedRows]:
        """Return the rows, and the rows with the first one zeroed, or gone where their number is not public."""
        row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=False)
        features, target = self.data
        sides = (self.data, without_row(*self.data, 0) if self.rows_are_public else (features[1:], target[1:]))
        with_row, without = (BoundedRows(ArraySource(*side), row_map, "zero", arithmetic) for side in sides)
        return with_row, without


def data_a() -> Data:
    """Return one row (1, 0) with target 1 and eight rows (0, 1) with target -1."""
    return np.repeat(np.eye(2), (1, 8), axis=0), np.repeat([1.0, -1.0], (1, 8))


def data_b() -> Data:
    """Return 4000 rows (1, 0) with target 1 and 4050 rows (0, 1) with target -1."""
    return np.repeat(np.eye(2), (4000, 4050), axis=0), np.repeat([1.0, -1.0], (4000, 4050))


def primitives(budget: PrivacyBudget = BUDGET) -> list[Subject]:
    """Return each mechanism alone, with the least noise that meets the budget."""
    multiplier = gaussian_multiplier(budget)
    excess = least_noise(lambda x: [MixingRelease(SKETCH_SIZE, 1.0 + x)], budget)

    def gaussian(rows: BoundedRows, bits: Sequence[Bits]) -> None:
        start = np.zeros((1, rows.row_map.n_coordinates))
        Channel(bits).gaussian(clipped_gradient(rows, start, residual_bound=1.0), multiplier=multiplier)

    def eigenvalue(rows: BoundedRows, bits: Sequence[Bits]) -> None:
        Channel(bits).eigenvalue(gram(rows), "smallest", multiplier=multiplier)

    def sketch(rows: BoundedRows, bits: Sequence[Bits]) -> None:
        Channel(bits).mix_gram(gram(rows), rows=SKETCH_SIZE, floor=1.0 + excess)

    def sketch_rows(rows: BoundedRows, bits: Sequence[Bits]) -> None:
        Channel(bits).mix_rows(gram(rows), rows=SKETCH_SIZE, floor=1.0 + excess)

    programs: dict[str, Program] = {"gaussian": gaussian, "eigenvalue": eigenvalue, "mix_gram": sketch}
    subjects = [Subject(name, program, budget, data_a()) for name, program in programs.items()]
    return [*subjects, Subject("mix_rows", sketch_rows, budget, data_a(), exact_only=True)]


def end_to_end(method: str, budget: PrivacyBudget = BUDGET, *, rows_are_public: bool = True) -> list[Subject]:
    """Return whole runs of a method on data A and B; the first one is the method's headline."""
    chosen = algorithm(method)
    settings = _OPTIONS.get(method, {"A": {}, "B": {}})
    subjects = []
    for name, options in settings.items():
        data, share = (data_b(), 0.25) if name.startswith("B") else (data_a(), 1.0)
        plan = chosen.plan(budget, n_rows=len(data[1]) if rows_are_public else None, n_features=2, **options)
        if isinstance(plan, StagedPlan):
            raise ParameterError(
                f"method={method!r} chooses releases from earlier ones; "
                "the audit is of methods that fix them in advance."
            )
        program = _runs_of(chosen.run, plan)
        called = f"{method}, data {name}{'' if rows_are_public else ', number of rows not public'}"
        subject = Subject(called, program, budget, data, True, share, rows_are_public=rows_are_public)
        subjects.append(subject)
    return subjects


def _runs_of(run: Callable[..., Any], plan: Any) -> Program:
    return lambda rows, bits: run(rows, plan, bits)
