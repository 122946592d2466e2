"""A cell of a Stata file changes neither how others are read nor what is said of the file."""

import struct
import warnings

import numpy as np
import pytest

from dpols import CategoricalColumn, FeatureMap, PrivateLinearRegression, read
from dpols.feature_map.source import mapped_source

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

N = 400
DAY = 21_915.0  # 1 January 2020, in days since 1960


def table(**columns):
    return pd.DataFrame({"x": np.arange(N) % 2 * 1.0, "y": np.arange(N) % 2 * 1.0, **columns})


def with_cell(path, old, new):
    """Change the bytes of one cell."""
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))


def test_a_value_without_a_label_is_read_without_a_word(tmp_path):
    answers = np.arange(N, dtype=np.int8) % 2
    answers[7] = 5
    table(answer=answers).to_stata(tmp_path / "a.dta", write_index=False, value_labels={"answer": {0: "no", 1: "yes"}})
    declared = FeatureMap({"answer": CategoricalColumn(["no", "yes"])}, target=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PrivateLinearRegression(50.0, 1e-6, feature_map=declared).fit(read(tmp_path / "a.dta", "y", ["answer"]))
    assert model.coef_ == pytest.approx([1.0], abs=0.2)


@pytest.mark.parametrize("odd", [1, 2, 9, np.nan])
def test_whether_two_values_have_one_label_is_no_matter_of_other_cells(odd, tmp_path):
    answers = np.where(np.arange(N) % 2, 3.0, 1.0)
    answers[7] = odd
    table(answer=answers).to_stata(
        tmp_path / "a.dta", write_index=False, value_labels={"answer": {1: "no", 2: "no", 3: "yes"}}
    )
    declared = FeatureMap({"answer": CategoricalColumn(["no", "yes"])}, target=(0, 1))
    source = mapped_source(declared, read(tmp_path / "a.dta", "y", ["answer"]), None)
    codes = np.concatenate([block[0][:, 0] for block in source.blocks()])
    expected = np.arange(N) % 2 * 1.0
    expected[7] = np.nan if np.isnan(odd) else 0.0
    np.testing.assert_array_equal(codes, expected)


@pytest.mark.parametrize("row", [0, 50])
def test_a_day_that_no_calendar_has_spoils_nothing(row, tmp_path):
    path = tmp_path / "days.dta"
    days = pd.date_range("2020-01-01", periods=N)
    table(day=days).to_stata(path, write_index=False, convert_dates={"day": "td"})
    with_cell(path, struct.pack("<d", DAY + row), struct.pack("<d", 1e15))
    assert read(path, "y", ["day", "x"]).text_columns == ("day",)
    features = np.concatenate([block[0][:, 0] for block in read(path, "y", ["x"]).blocks()])
    assert features.tolist() == (np.arange(N) % 2).tolist()


@pytest.mark.parametrize("row", [0, 50])
def test_a_text_in_another_encoding_is_read_without_a_word(row, tmp_path):
    path = tmp_path / "texts.dta"
    names = [f"Anna{i:03}" for i in range(N)]
    table(name=names).to_stata(path, write_index=False, version=118)
    with_cell(path, names[row].encode(), b"\xc4" + names[row][1:].encode())
    declared = FeatureMap({"name": CategoricalColumn(["Anna001", "Anna002"])}, target=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateLinearRegression(1.0, 1e-6, feature_map=declared).fit(read(path, "y", ["name"]))
