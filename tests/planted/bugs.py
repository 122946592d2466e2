"""Mistakes that have been made in private regression, or are easily made, as changes to the source.

Each is planted in a copy, in one or several places. The rest of the tests knows nothing of this list; they must fail on
every one of these copies. A text to replace must occur exactly once in its file: whoever moves it updates the change.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """A text of one file, and what to put in its place."""

    file: str  # below src/dpols
    old: str
    new: str

    def apply(self, package: Path) -> None:
        """Change the file in a copy of the package."""
        path = package / self.file
        text = path.read_text(encoding="utf-8")
        count = text.count(self.old)
        if count != 1:
            raise LookupError(
                f"src/dpols/{self.file} has the following text {count} times, not once; the source has moved on, so "
                f"update the change in tests/planted/bugs.py.\n{self.old}"
            )
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True)
class Bug:
    """One mistake in one place."""

    mistake: str  # as the list below has it
    place: str
    edits: tuple[Edit, ...]
    quick: bool = False  # whether the short form, in the ordinary tests, plants it

    @property
    def name(self) -> str:
        return f"{self.mistake} ({self.place})"

    def plant(self, package: Path) -> None:
        """Change a copy of the package."""
        for edit in self.edits:
            edit.apply(package)


MISTAKES = (
    "no clipping",
    "sigma without sqrt(T)",
    "floor / 2",
    "sqrt(shift) used as shift",
    "a lower bound used for both ends",
    "mu as sigma",
    "one sketch reused where two are charged",
    "absolute tolerance 1e-12",
    "NaN passed through",
    "a default seed",
    "eigenvalue noise short by sqrt(2)",
    "n in a non-public role",
    "a unit charged as one row",
    "counts of many columns charged as of one",
    "a release beside the method left out of the account",
    "a charge given back for what was drawn",
)

BUGS = (
    Bug(
        "no clipping",
        "residuals",
        (
            Edit(
                "data/span.py",
                "        np.clip(residuals, -1.0, 1.0, out=residuals)\n",
                "",
            ),
            Edit(
                "data/fixed_point.py",
                "    return np.clip(steps, -ONE, ONE, out=steps)\n",
                "    return steps\n",
            ),
        ),
        quick=True,
    ),
    Bug(
        "no clipping",
        "rows",
        (
            Edit(
                "data/rows.py",
                "    if squares.max(initial=0.0) <= bound * bound:\n        return rows, None\n",
                "    return rows, None\n",
            ),
        ),
    ),
    Bug(
        "no clipping",
        "targets",
        (
            Edit("data/rows.py", "np.clip(target, *row_map.target)", "target"),
            Edit(
                "data/rows.py",
                "    np.clip(bounded_target, -1.0, 1.0, out=bounded_target)  # the centre is rounded\n",
                "",
            ),
            Edit("data/fixed_point.py", "np.clip(np.rint(span.target * ONE), -ONE, ONE)", "np.rint(span.target * ONE)"),
        ),
    ),
    Bug(
        "sigma without sqrt(T)",
        "calibration",
        (
            Edit(
                "privacy/paper.py",
                "return floor, math.sqrt(n_iterations) * gradient",
                "return floor, gradient",
            ),
        ),
    ),
    Bug(
        "sigma without sqrt(T)",
        "composition",
        (
            Edit(
                "privacy/accountant.py",
                "mu_squared += multiplier**-2.0",
                "mu_squared = max(mu_squared, multiplier**-2.0)",
            ),
        ),
    ),
    Bug(
        "sigma without sqrt(T)",
        "run",
        (
            Edit(
                "algorithms/ihm.py",
                "channel.gaussian(exact, multiplier=plan.gradient_multiplier)",
                "channel.gaussian(exact, multiplier=plan.gradient_multiplier / math.sqrt(plan.n_iterations))",
            ),
        ),
    ),
    Bug(
        "floor / 2",
        "shift",
        (
            Edit(
                "mechanisms.py",
                "Fraction(floor) * int(gram.sensitivity)",
                "Fraction(floor) / 2 * int(gram.sensitivity)",
            ),
            Edit("mechanisms.py", "np.maximum(floor * gram.sensitivity", "np.maximum(0.5 * floor * gram.sensitivity"),
        ),
    ),
    Bug(
        "sqrt(shift) used as shift",
        "sketch",
        (
            Edit(
                "mechanisms.py",
                "_whole_numbered_sketch(gram.value, lift,",
                "_whole_numbered_sketch(gram.value, math.isqrt(lift),",
            ),
            Edit(
                "mechanisms.py",
                "root_of(gram.value + shift[:, None, None]",
                "root_of(gram.value + np.sqrt(shift)[:, None, None]",
            ),
        ),
    ),
    Bug(
        "a lower bound used for both ends",
        "scale of a feature",
        (
            Edit("data/bounds.py", "scale = max(abs(low), abs(high))", "scale = max(abs(low), abs(low)) or abs(high)"),
            Edit(
                "data/bounds.py",
                "high=_shared(np.minimum(ends[:, 1], 1.0)),",
                "high=_shared(ends[:, 1]),",
            ),
        ),
        quick=True,
    ),
    Bug(
        "mu as sigma",
        "accountant",
        (Edit("privacy/accountant.py", "mu_squared += multiplier**-2.0", "mu_squared += multiplier**2.0"),),
    ),
    Bug(
        "mu as sigma",
        "noise",
        (
            Edit("mechanisms.py", "Fraction(factor) * Fraction(multiplier)", "Fraction(factor) / Fraction(multiplier)"),
            Edit("mechanisms.py", "scaled = factor * multiplier", "scaled = factor / multiplier"),
        ),
    ),
    Bug(
        "one sketch reused where two are charged",
        "steps",
        (
            Edit(
                "algorithms/ihm.py",
                "sketches.append(mixed.gram / plan.sketch_size)",
                "sketches.append(sketches[0] if sketches else mixed.gram / plan.sketch_size)",
            ),
        ),
    ),
    Bug(
        "one sketch reused where two are charged",
        "channel",
        (
            Edit(
                "mechanisms.py",
                "known = self._record_sketch(gram, rows, floor, certain)\n        if gram.exact:\n",
                "known = self._record_sketch(gram, rows, floor, certain)\n"
                "        if not hasattr(self, '_mixed'):\n"
                "            self._mixed = self._fresh(gram, rows, floor, known)\n"
                "        return self._mixed\n\n"
                "    def _fresh(self, gram: Statistic, rows: int, floor: float, known: Array) -> Mixed:\n"
                "        if gram.exact:\n",
            ),
        ),
    ),
    Bug(
        "absolute tolerance 1e-12",
        "calibration",
        (
            Edit(
                "privacy/search.py",
                "target = math.log(budget.delta) - _ROUNDING",
                "target = math.log(budget.delta + 1e-12)",
            ),
        ),
        quick=True,
    ),
    Bug(
        "NaN passed through",
        "rows",
        (Edit("data/rows.py", "    return bad if bad.any() else None\n", "    return None\n"),),
        quick=True,
    ),
    Bug(
        "a default seed",
        "estimator",
        (Edit("estimators.py", "        random_state: Any = None,\n", "        random_state: Any = 0,\n"),),
    ),
    Bug(
        "a default seed",
        "streams",
        (
            Edit(
                "randomness.py",
                "return [SystemBits() for _ in range(count)]",
                "return [SeededBits(index) for index in range(count)]",
            ),
        ),
    ),
    Bug(
        "eigenvalue noise short by sqrt(2)",
        "sensitivity",
        (
            Edit(
                "mechanisms.py",
                "extreme_eigenvalue(gram.value, which)]), gram.sensitivity, gram.step)",
                "extreme_eigenvalue(gram.value, which)]), gram.sensitivity / math.sqrt(2.0), gram.step)",
            ),
            Edit(
                "mechanisms.py",
                "Statistic(np.array([nearest], dtype=object), gram.sensitivity + error, gram.step)",
                "Statistic(np.array([nearest], dtype=object), (gram.sensitivity + error) / math.sqrt(2.0), gram.step)",
            ),
        ),
    ),
    Bug(
        "n in a non-public role",
        "length of a step",
        (
            Edit(
                "algorithms/ihm.py",
                "theta = theta + solve_symmetric(sketches[-1], step)",
                "used = float(np.trace(hessian.value)) * hessian.step\n"
                "        theta = theta + solve_symmetric(sketches[-1], step) * min(1.0, 2.0 * used / plan.n_rows)",
            ),
        ),
    ),
    Bug(
        "n in a non-public role",
        "rule of delta",
        (
            Edit(
                "fitting/preparing.py",
                "budget = request.budget(source.n_rows)",
                "budget = request.budget(int(source.total(lambda X, y: ((y == y).sum(),)).values[0]))",
            ),
        ),
    ),
    Bug(
        "a unit charged as one row",
        "sums",
        (
            Edit(
                "statistics.py",
                "statistic.value, statistic.sensitivity * rows_per_unit, statistic.step / rows_per_unit, rows_per_unit",
                "statistic.value, statistic.sensitivity, statistic.step / rows_per_unit, rows_per_unit",
            ),
        ),
    ),
    Bug(
        "a unit charged as one row",
        "shift of a sketch",
        (
            Edit(
                "mechanisms.py",
                "one_row = gram.sensitivity / gram.rows_at_once",
                "one_row = gram.sensitivity",
            ),
        ),
    ),
    Bug(
        "a unit charged as one row",
        "rows that are used",
        (Edit("data/units.py", "np.repeat(starts, sizes) < max_rows", "np.repeat(starts, sizes) < max_rows + 1"),),
    ),
    Bug(
        "counts of many columns charged as of one",
        "values",
        (
            Edit(
                "side_releases/counting.py",
                "per_unit(_counted(counts, rows.arithmetic, len(edges)), rows.rows_per_unit)",
                "per_unit(_counted(counts, rows.arithmetic, 1), rows.rows_per_unit)",
            ),
        ),
    ),
    Bug(
        "a release beside the method left out of the account",
        "what was recorded",
        (
            Edit(
                "side_releases/alongside.py",
                "return epsilon_of((*sides, *fit.releases), budget.delta, relation=relation)",
                "return epsilon_of(fit.releases, budget.delta, relation=relation)",
            ),
        ),
    ),
    Bug(
        "a release beside the method left out of the account",
        "the plan",
        (
            Edit(
                "side_releases/alongside.py",
                "return log_delta_of((*sides, *plan_at(noise).releases), budget.epsilon)",
                "return log_delta_of(plan_at(noise).releases, budget.epsilon)",
            ),
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "how a fit ended",
        (Edit("ledger/holding.py", "        if released:\n", "        if False:\n"),),
    ),
    Bug(
        "a charge given back for what was drawn",
        "a witness that sees nothing",
        (
            Edit("randomness.py", "        self.witness.released = True  # before", "        pass  # before"),
            Edit("randomness.py", "            stream.witness.released = True\n", "            pass\n"),
        ),
    ),
    Bug(
        "a charge given back for what was drawn",
        "fits that still run",
        (Edit("ledger/records.py", 'if entry.status == "void" else _plus', 'if entry.status != "spent" else _plus'),),
    ),
    Bug(
        "a charge given back for what was drawn",
        "a fit that was taken for dead",
        (
            Edit(
                "ledger/budget_ledger.py",
                '            if found[0].status != "open":\n',
                '            if found[0].status == "spent":\n',
            ),
        ),
    ),
)
