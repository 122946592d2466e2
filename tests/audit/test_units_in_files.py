"""An audit of units in files: of one with more rows than are used, no attack finds more than is claimed."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dpols import read
from dpols.audit.lower_bound import audit
from dpols.audit.subjects import BUDGET, SKETCH_SIZE, Subject
from dpols.data import BoundedRows, Bounds
from dpols.data.recipe import made_source
from dpols.data.streamed_units import streamed_units
from dpols.feature_map import recipe_of, with_unit
from dpols.mechanisms import Channel
from dpols.privacy import MixingRelease, gaussian_multiplier, least_noise
from dpols.statistics import clipped_gradient, gram

pytestmark = pytest.mark.extras

RUNS = 15_000
FLOOR = 1.0 + least_noise(lambda excess: [MixingRelease(SKETCH_SIZE, 1.0 + excess)], BUDGET)
MOST = 2


@dataclass(frozen=True)
class InFiles(Subject):
    """Two files, one with the rows of a unit and one with zeros in their place, of which so many are used."""

    folder: Path = Path()
    kind: str = "csv"
    used: int = MOST  # by the program, whatever is claimed

    def neighbours(self, arithmetic):
        row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=False)
        return tuple(BoundedRows(self._source(own), row_map, "zero", arithmetic, MOST) for own in (True, False))

    def _source(self, own):
        X, y = self.data
        if not own:
            X, y = np.where(np.arange(len(y))[:, None] < 4, 0.0, X), np.where(np.arange(len(y)) < 4, 0.0, y)
        path = self.folder / f"{own}.{self.kind}"
        written(path, ["own"] * 4 + [f"p{i}" for i in range(len(y) - 4)], X, y)
        table = read(path, "y", ["a", "b", "who"])
        source = made_source(table, with_unit(recipe_of(None, ("a", "b"), "y"), table, "who"))
        return streamed_units(source, max_rows=self.used, bad_rows="zero")


def written(path, ids, X, y):
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"who": ids, "a": X[:, 0], "b": X[:, 1], "y": y}).sample(frac=1.0, random_state=3)
    rows.to_csv(path, index=False) if path.suffix == ".csv" else rows.to_parquet(path, index=False, row_group_size=2)


# Four rows of the longest kind, alike, and others that are zero: all there is of the sums is theirs.
DATA = np.vstack((np.tile([1.0, 0.0], (4, 1)), np.zeros((4, 2)))), np.repeat([1.0, 0.0], 4)


def sketch(rows, bits):
    Channel(bits).mix_gram(gram(rows), rows=SKETCH_SIZE, floor=FLOOR)


def gradient(rows, bits):
    start = np.zeros((1, 2))
    Channel(bits).gaussian(clipped_gradient(rows, start, residual_bound=1.0), multiplier=gaussian_multiplier(BUDGET))


@pytest.mark.parametrize(("program", "kind", "least"), [(sketch, "csv", 1.5), (gradient, "parquet", 2.0)])
def test_no_attack_finds_more_than_is_claimed_for_a_unit_in_a_file(tmp_path, program, kind, least):
    found = audit(InFiles("unit", program, BUDGET, DATA, folder=tmp_path, kind=kind), runs=RUNS, seed=1)
    assert found.holds
    assert least < found.lower_bound


def test_an_attack_finds_a_unit_of_which_more_rows_are_used_than_are_charged(tmp_path):
    found = audit(InFiles("unit", gradient, BUDGET, DATA, folder=tmp_path, used=4), runs=RUNS, seed=1)
    assert not found.holds
