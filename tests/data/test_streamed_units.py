"""Units whose rows are read anew in every pass: the same choice as in memory, by little more than a number per unit."""

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression, read
from dpols.data import ArraySource, streamed_units, units
from dpols.data.row_choice import choose, plain_rows, row_hashes, seeds_of
from dpols.data.source import add_up
from dpols.errors import DataError, DataTypeError

BOUNDS = Bounds(features={"a": (-3, 3), "b": (-3, 3)}, target=(-10, 10))


class Blocks:
    """Rows in blocks of their own, with ids, read anew in each pass."""

    columns = None

    def __init__(self, X, y, ids, size):
        self.rows, self.ids, self.size = (X, y), ids, size
        self.n_rows, self.n_features = X.shape
        self.passes = 0

    def total(self, kernel, *args):
        self.passes += 1
        parts = [slice(start, start + self.size) for start in range(0, self.n_rows, self.size)]
        blocks = [(*(values[part] for values in self.rows), self.ids[part]) for part in parts]
        return add_up((kernel(*streamed_units.tagged(*block), *args), len(block[1])) for block in blocks)


def rows(n=600, n_units=60, seed=0):
    """Whole-numbered rows, so that many of a unit are equal, with a few that are missing and one -0.0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, 2)).astype(float)
    X[5, 0] = -0.0
    X[rng.integers(0, n, 9), 1] = np.nan
    return X, rng.integers(0, 2, n).astype(float), [f"p{i}" for i in rng.integers(0, n_units, n)]


def listed(features, target):
    """Keep all rows, in a list."""
    return ([plain_rows(features, target)],)


def as_set(lists):
    return sorted(map(tuple, np.nan_to_num(np.concatenate([*lists]), nan=9.0).tolist()))


@pytest.mark.parametrize("most", [1, 2, 5, 100])
@pytest.mark.parametrize("size", [1, 7, 600])
def test_the_rows_that_are_used_are_those_that_are_used_in_memory(most, size):
    X, y, ids = rows()
    here = units.source_of_units(ArraySource(X, y), ids, max_rows=most, bad_rows="raise")
    order = np.random.default_rng(1).permutation(len(y))
    source = Blocks(X[order], y[order], [ids[i] for i in order], size)
    found = streamed_units.streamed_units(source, max_rows=most, bad_rows="raise")
    assert as_set(found.total(listed).values[0]) == as_set(here.total(listed).values[0])
    assert found.total(listed).n_rows == len(y)
    assert (found.copies.used.sum() > 0) == (most < 10)  # of some rows not all copies are used


def test_rows_and_their_units_stay_together():
    X, y, ids = rows()
    here = units.source_of_units(ArraySource(X, y), ids, max_rows=3, bad_rows="raise")
    found = streamed_units.streamed_units(Blocks(X, y, ids, 50), max_rows=3, bad_rows="raise")
    sums = []
    for source in (here, found):
        codes, total = source.with_units(listed)
        lines = np.nan_to_num(np.concatenate([*total.values[0]]), nan=9.0)
        sums.append(sorted(map(tuple, np.stack([np.bincount(codes, weights=line) for line in lines.T]).T.tolist())))
    assert sums[0] == sums[1]


def test_the_choice_is_the_same_where_the_hashes_do_not_fit_into_one_pass(monkeypatch):
    X, y, ids = rows()
    whole = streamed_units.streamed_units(Blocks(X, y, ids, 50), max_rows=3, bad_rows="raise")
    monkeypatch.setattr(streamed_units, "_HASHES_AT_ONCE", 100)
    source = Blocks(X, y, ids, 50)
    parts = streamed_units.streamed_units(source, max_rows=3, bad_rows="raise")
    assert source.passes == 1 + 6 + 1
    np.testing.assert_array_equal(whole.choice.rows, parts.choice.rows)
    np.testing.assert_array_equal(whole.copies.rows, parts.copies.rows)


def test_the_number_of_passes_is_that_of_the_public_number_of_rows():
    X, y, _ = rows()
    for ids in (["one"] * 600, [str(i) for i in range(600)]):
        source = Blocks(X, y, ids, 100)
        streamed_units.streamed_units(source, max_rows=3, bad_rows="raise")
        assert source.passes == 3


def test_what_is_kept_does_not_grow_with_the_rows_of_units():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4000, 2)), rng.standard_normal(4000)
    ids = ["small", *(f"p{i % 20}" for i in range(3999))]
    found = streamed_units.streamed_units(Blocks(X, y, ids, 500), max_rows=3, bad_rows="raise")
    assert len(found.choice.units) == 20  # not the one all of whose rows are used
    assert len(found.choice.rows) == 3 * 20
    assert not found.copies.used.size


def test_a_unit_has_no_part_in_the_choice_of_another():
    """Also where all hashes of rows are equal, as they may be by chance: which rows are equal does not matter."""
    X, y, ids = rows()
    gone = [None if unit == "p7" else unit for unit in ids]
    with pytest.MonkeyPatch.context() as patch:
        for flat in (False, True):
            if flat:
                patch.setattr(streamed_units, "row_hashes", lambda rows, seeds: np.zeros(len(rows), dtype=np.uint64))
            lines = []
            for these in (ids, gone):
                found = streamed_units.streamed_units(Blocks(X, y, these, 50), max_rows=3, bad_rows="zero")
                codes, total = found.with_units(listed)
                lines.append(np.nan_to_num(np.concatenate([*total.values[0]]), nan=9.0))
                assert np.bincount(codes).max() <= 3
            both, one = (as_set([line]) for line in lines)
            for row in one:
                both.remove(row)
            assert 0 < len(both) <= 3


def test_a_hash_depends_on_values_and_not_on_how_they_are_held():
    seeds = seeds_of(["7", "8"])
    assert seeds_of([7, 8.0]).tolist() == seeds.tolist()
    values = np.array([[0.0, np.nan, 1.5], [2.0, 3.0, -4.0]])
    other = np.asfortranarray([[-0.0, -np.nan, 1.5], [2.0, 3.0, -4.0]]).astype(np.float32)
    one, two = (row_hashes(plain_rows(v[:, :2], v[:, 2]), seeds) for v in (values, other))
    assert one.tolist() == two.tolist()
    assert one[0] != row_hashes(plain_rows(values[:1, :2], values[:1, 2]), seeds[1:])[0]


def test_of_each_unit_so_many_rows_are_chosen_and_copies_are_numbered():
    chosen = choose(np.array([0, 0, 0, 1, 2]), np.array([5, 5, 5, 5, 9], dtype=np.uint64), 2)
    assert chosen.units.tolist() == [0, 1, 2]
    assert chosen.used.tolist() == [2, 1, 1]
    assert chosen.copies.tolist() == [3, 1, 1]
    assert chosen.in_part.units.tolist() == [0]
    assert chosen.whole.units.tolist() == [1, 2]


@pytest.mark.extras
def test_missing_ids_in_files_are_refused_or_not_used(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.csv").write_text("who,a,b,y\n" + "".join(f"{'' if i == 3 else i},1,{i % 3},1\n" for i in range(90)))
    fitting = PrivateLinearRegression(1.0, 1e-6, BOUNDS, unit="who", max_rows_per_unit=2)
    with pytest.raises(DataError, match="the id of a unit is missing"):
        fitting.fit(read(tmp_path / "t.csv", "y"))
    fitting.set_params(bad_rows="zero").fit(read(tmp_path / "t.csv", "y"))
    with pytest.raises(DataError, match="no column 'whom'"):
        fitting.set_params(unit="whom").fit(read(tmp_path / "t.csv", "y"))
    with pytest.raises(DataError, match="also the target or a feature"):
        fitting.set_params(unit="y").fit(read(tmp_path / "t.csv", "y"))
    with pytest.raises(DataTypeError, match="cannot be applied"):
        fitting.set_params(unit=0).fit(read(tmp_path / "t.csv", "y"))
    with pytest.raises(DataError, match="ids beside the rows need rows in memory"):
        fitting.set_params(unit=None).fit(read(tmp_path / "t.csv", "y", ["a", "b"]), groups=list(range(90)))
