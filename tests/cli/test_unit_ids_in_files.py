"""Ids of units in files: one row's id says nothing of what the ids of others are taken for."""

import numpy as np
import pytest

from dpols import PrivateLinearRegression

pytestmark = pytest.mark.extras

N = 2000
TARGET = "[target]\nlow = -1\nhigh = 1\n"
X = "[features.x]\nlow = -1\nhigh = 1\n"
WARD = '[features.ward]\ncategories = ["7", "007"]\nunknown = "other"\n'


@pytest.fixture
def fit(dpols, tmp_path):
    """Fit one row of each unit of a CSV file, by a seed; the last row is one of zeros."""

    def run(ids, *arguments, wards=None, bounds=X, parquet=False):
        x, y = np.ones(len(ids)), np.where(np.arange(len(ids)) % 8, -1.0, 1.0)
        x[-1] = y[-1] = 0.0
        columns = {"who": list(ids), "x": x, "y": y, "ward": ["7"] * len(ids) if wards is None else wards}
        path = tmp_path / ("visits.parquet" if parquet else "visits.csv")
        if parquet:
            pa = pytest.importorskip("pyarrow")
            pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
        else:
            lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
            path.write_text("\n".join(lines) + "\n")
        (tmp_path / "bounds.toml").write_text(TARGET + bounds)
        asked = ("--target", "y", "--epsilon", 1, "--delta", "1e-6", "--bounds", "bounds.toml", "--no-intercept")
        unit = ("--unit", "who", "--max-rows-per-unit", 1, "--random-state", 0, "--out", "model.json")
        return dpols("fit", path, *asked, *unit, *arguments)

    return run


@pytest.fixture
def coefficients(fit):
    """Fit, and return the coefficients of the model that is saved."""

    def run(*arguments, **options):
        done = fit(*arguments, **options)
        assert done.code == 0, done.err
        return PrivateLinearRegression.load("model.json").coef_.tolist()

    return run


@pytest.mark.parametrize("first", [2**60, 10**19, 10**30, 0], ids=["2^60", "20 digits", "31 digits", "short"])
def test_whole_numbers_of_any_length_are_told_apart(coefficients, first):
    found = coefficients([first + place for place in range(N)])
    assert found == coefficients([f"p{place}" for place in range(N)])
    assert found[0] == pytest.approx(-0.75, abs=0.3)


@pytest.mark.parametrize("last", ["1.5", "1e3", "p1", "true", "2020-01-01", "NA", "99999999999999999999", ""])
@pytest.mark.parametrize("ids", [[2**60 + i for i in range(N)], ["007", "7", "7.0", "07"] * 9], ids=["long", "sevens"])
def test_the_last_id_does_not_change_what_the_others_are(coefficients, ids, last):
    whole = coefficients([*ids, 5], "--bad-rows", "zero")
    assert coefficients([*ids, last], "--bad-rows", "zero") == whole


@pytest.mark.parametrize("empty", ["", '""'])
def test_an_empty_cell_is_a_missing_id(fit, coefficients, empty):
    refused = fit([*range(N), empty])
    assert refused.code == 2
    assert "the id of a unit is missing" in refused.err
    ids = [place if place % 8 else None for place in range(N)]
    found = coefficients([empty if who is None else who for who in ids], "--bad-rows", "zero")
    assert found == coefficients(ids, "--bad-rows", "zero", parquet=True)
    assert found[0] == pytest.approx(-1.0, abs=0.1)


def test_a_quoted_id_may_hold_commas_and_quotation_marks(coefficients):
    assert coefficients([f'"a,""{place}"' for place in range(N)]) == coefficients(range(N))


@pytest.mark.parametrize("odd", ['"7', '7"', '"7" ', '"a\nb"', "7\r"])
def test_an_id_that_would_hide_other_rows_is_refused(fit, odd):
    refused = fit([*range(N), odd, *range(5)])
    assert refused.code == 2
    assert "Parquet" in refused.err
    assert odd not in refused.err


def test_categories_beside_ids_are_text_whatever_other_rows_hold(coefficients):
    wards = ["007", *["7"] * 7] * (N // 8)
    for last in ("7", "seven", "7.5"):
        found = coefficients(range(N), wards=[*wards[:-1], last], bounds=WARD)
        assert found[0] == pytest.approx(1.0, abs=0.3)  # of "007" against "7", and 0 where they are one


def test_parquet_with_a_missing_id_keeps_the_others(coefficients):
    ids = [2**60 + place for place in range(N)]
    found = [coefficients([*ids, last], "--bad-rows", "zero", parquet=True) for last in (5, None)]
    assert found[0] == found[1]
    assert found[0][0] == pytest.approx(-0.75, abs=0.3)


def test_a_column_that_is_there_twice_is_refused(dpols, tmp_path):
    (tmp_path / "visits.csv").write_text("who,x,x,y\n1,1,0,1\n")
    (tmp_path / "bounds.toml").write_text(TARGET + X)
    asked = ("--target", "y", "--epsilon", 1, "--delta", "1e-6", "--bounds", "bounds.toml", "--out", "model.json")
    done = dpols("fit", "visits.csv", *asked, "--unit", "who", "--max-rows-per-unit", 1)
    assert done.code == 2
    assert "unique" in done.err


def test_a_unit_that_is_also_a_feature_is_refused(dpols, tmp_path):
    (tmp_path / "visits.csv").write_text("who,x,y\n1,1,1\n2,0,1\n")
    (tmp_path / "bounds.toml").write_text(TARGET + X + X.replace("x", "who"))
    asked = ("--target", "y", "--epsilon", 1, "--delta", "1e-6", "--bounds", "bounds.toml", "--out", "model.json")
    done = dpols("fit", "visits.csv", *asked, "--unit", "who", "--max-rows-per-unit", 1)
    assert done.code == 2
    assert "--unit 'who' is also a feature" in done.err
