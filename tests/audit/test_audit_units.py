"""An audit of sketches and gradients for units of two rows: no attack finds more than is claimed, but a mistake."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpols.audit.lower_bound import audit
from dpols.audit.replay import without_row
from dpols.audit.subjects import BUDGET, SKETCH_SIZE, Subject
from dpols.data import ArraySource, BoundedRows, Bounds
from dpols.data.units import source_of_units
from dpols.mechanisms import Channel
from dpols.privacy import MixingRelease, gaussian_multiplier, least_noise
from dpols.statistics import clipped_gradient, gram

RUNS = 15_000
FLOOR = 1.0 + least_noise(lambda excess: [MixingRelease(SKETCH_SIZE, 1.0 + excess)], BUDGET)


@dataclass(frozen=True)
class OfUnits(Subject):
    """Data whose first two rows are one unit, which the neighbour lacks; the other rows are units of their own."""

    def neighbours(self, arithmetic):
        row_map = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=False)
        ids = ["own", "own", *range(len(self.data[1]) - 2)]
        sides = (self.data, without_row(*self.data, np.array([0, 1])))
        sources = [source_of_units(ArraySource(*side), ids, max_rows=2, bad_rows="zero") for side in sides]
        return tuple(BoundedRows(source, row_map, "zero", arithmetic, 2) for source in sources)


def data(equal: bool):
    """Two rows of norm 1, alike or orthogonal, and nothing else: all there is of the Gram matrix is theirs."""
    own = np.array([[1.0, 0.0], [1.0, 0.0] if equal else [0.0, 1.0]])
    return np.vstack((own, np.zeros((4, 2)))), np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])


def sketch(rows, bits):
    Channel(bits).mix_gram(gram(rows), rows=SKETCH_SIZE, floor=FLOOR)


def gradient(rows, bits):
    start = np.zeros((1, 2))
    Channel(bits).gaussian(clipped_gradient(rows, start, residual_bound=1.0), multiplier=gaussian_multiplier(BUDGET))


def sketch_charged_as_of_one_row(rows, bits):
    statistic = gram(rows)
    cheap = replace(statistic, sensitivity=statistic.sensitivity / 2.0, rows_at_once=1)
    Channel(bits).mix_gram(cheap, rows=SKETCH_SIZE, floor=FLOOR)


@pytest.mark.parametrize(
    ("program", "equal", "least"), [(sketch, True, 1.5), (sketch, False, 0.8), (gradient, True, 2.0)]
)
def test_no_attack_finds_more_than_is_claimed_for_a_unit(program, equal, least):
    found = audit(OfUnits("unit", program, BUDGET, data(equal)), runs=RUNS, seed=1)
    assert found.holds
    assert least < found.lower_bound


def test_an_attack_finds_a_unit_that_is_charged_as_one_row():
    found = audit(OfUnits("unit", sketch_charged_as_of_one_row, BUDGET, data(equal=True)), runs=RUNS, seed=1)
    assert not found.holds
