"""Law: where the number of rows is not public, a zero row changes nothing, wherever it stands.

A row that is added is then a zero row, which nobody notices, and one zero-out step. Rows that are not finite count as
zero rows with ``bad_rows="zero"``, so that two whole fits can be compared: their files are the same, byte for byte.
"""

import json
import warnings

import numpy as np
import pytest

from dpols import (
    Bounds,
    PaidBounds,
    PrivateGridSearch,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    read,
    release_sketch,
)
from dpols.algorithms import ALGORITHMS, GENERALISED
from dpols.errors import ParameterError
from dpols.private_search import grid_search

WITHOUT_ROWS = [name for name, row in ALGORITHMS.items() if row.needs_rows is None]
WITH_ROWS = [name for name, row in ALGORITHMS.items() if row.needs_rows is not None]
BOUNDS = Bounds(features=[(-3.0, 3.0), (0.0, 50.0)], target=(-10.0, 10.0))
PAID = PaidBounds(features=[(-1000.0, 1000.0), None], target=(-1e6, 1e6), share=0.2)
PRIVATE = {"epsilon": 2.0, "delta": 1e-5, "neighbours": "add-remove", "bad_rows": "zero", "random_state": 3}
PLACES = {"first": [0], "middle": [77, 77, 150], "last": [300] * 40}  # where zero rows are inserted


def rows(n=300):
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.uniform(-3.0, 3.0, n), rng.uniform(0.0, 50.0, n)))
    return X, X[:, 0] + 0.1 * X[:, 1] + rng.normal(0.0, 1.0, n)


def with_zero_rows(places, *arrays):
    """The arrays with rows that are not finite, inserted at these places."""
    return tuple(np.insert(np.asarray(array, dtype=float), places, np.nan, axis=0) for array in arrays)


def shown(model):
    """All that a fitted model can show, as it is stored, but for its date."""
    content = json.loads(model.to_json())
    content["content"]["report"].pop("date")
    content.pop("sha256")
    return content, model.privacy_report_.to_text()


def seen_of(run):
    """What a run returns, warns of and tells a progress hook."""
    told = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(lambda *numbers: told.append(numbers))
    return result, [str(warning.message) for warning in caught], told


def assert_unnoticed(model, first, second, **more):
    """Both fits show the same."""
    (one, *beside), (other, *likewise) = (
        seen_of(lambda hook, data=data: shown(model.fit(*data, progress=hook, **more))) for data in (first, second)
    )
    assert one == other
    assert beside == likewise


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", WITHOUT_ROWS)
def test_zero_rows_change_nothing_of_a_linear_model(method, fit_intercept, places):
    model = PrivateLinearRegression(bounds=BOUNDS, method=method, fit_intercept=fit_intercept, **PRIVATE)
    assert_unnoticed(model, rows(), with_zero_rows(places, *rows()))


@pytest.mark.parametrize("bounds", [BOUNDS, PAID], ids=["declared", "paid"])
@pytest.mark.parametrize("inference", [False, True])
def test_zero_rows_change_nothing_of_what_is_released_beside_a_method(inference, bounds):
    model = PrivateLinearRegression(bounds=bounds, inference=inference, count_clipped=True, **PRIVATE)
    assert_unnoticed(model, rows(), with_zero_rows(PLACES["middle"], *rows()))


@pytest.mark.parametrize("inference", [False, True])
def test_rows_of_a_unit_without_an_id_change_nothing(inference):
    X, y = rows()
    people = [f"person {i // 4}" for i in range(len(y))]
    longer = [*people[:77], None, None, *people[77:]]
    model = PrivateLinearRegression(bounds=BOUNDS, inference=inference, max_rows_per_unit=3, **PRIVATE)
    assert shown(model.fit(X, y, groups=people)) == shown(model.fit(*with_zero_rows([77, 77], X, y), groups=longer))


OF_FAMILIES = {
    "logistic": PrivateLogisticRegression(bounds=Bounds(features=BOUNDS.features), classes=(0.0, 1.0), **PRIVATE),
    "poisson": PrivatePoissonRegressor(bounds=Bounds(features=BOUNDS.features, target=(0.0, 5.0)), **PRIVATE),
}


@pytest.mark.parametrize("model", OF_FAMILIES.values(), ids=OF_FAMILIES)
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_zero_rows_change_nothing_of_other_families(model, places):
    X, y = rows()
    y = (y > 2.0).astype(float)
    assert_unnoticed(model, (X, y), with_zero_rows(places, X, y))


def test_every_family_has_a_method_without_a_public_number_of_rows():
    assert all(row.needs_rows is None for row in GENERALISED.values())


@pytest.mark.parametrize("method", WITH_ROWS)
def test_a_method_that_needs_the_number_of_rows_is_refused(method):
    with pytest.raises(ParameterError, match=r"needs a public number of rows.*'whitened'"):
        PrivateLinearRegression(bounds=BOUNDS, method=method, **PRIVATE).fit(*rows())


def test_a_rule_of_the_number_of_rows_is_refused():
    with pytest.raises(ParameterError, match=r"give delta as a number"):
        PrivateLinearRegression(bounds=BOUNDS, **{**PRIVATE, "delta": "1/n^2"}).fit(*rows())


@pytest.mark.parametrize("method", WITHOUT_ROWS)
def test_a_table_without_rows_is_like_one_of_zero_rows(method):
    model = PrivateLinearRegression(bounds=BOUNDS, method=method, **PRIVATE)
    empty = np.empty((0, 2)), np.empty(0)
    assert_unnoticed(model, empty, with_zero_rows([0, 0], *empty))


@pytest.mark.extras
def test_zero_rows_of_a_file_change_nothing(tmp_path):
    X, y = rows()
    lines = [f"{a!r},{b!r},{c!r}" for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)]
    for name, text in (("one", lines), ("two", [*lines[:100], ",,", "1.0,,2.0", *lines[100:]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.csv").write_text("\n".join(["a,b,c", *text]))
    bounds = Bounds(features={"a": (-3.0, 3.0), "b": (0.0, 50.0)}, target=(-10.0, 10.0))
    model = PrivateLinearRegression(bounds=bounds, **PRIVATE)
    assert_unnoticed(model, *((read(tmp_path / name / "table.csv", target="c"),) for name in ("one", "two")))
    assert_hook_of_files_unnoticed(lambda source: model.fit(source), tmp_path, target="c")
    all_columns = Bounds(features={**bounds.features, "c": bounds.target})
    sketched = {name: value for name, value in PRIVATE.items() if name != "random_state"}
    assert_hook_of_files_unnoticed(lambda it: release_sketch(it, rows=5, bounds=all_columns, **sketched), tmp_path)


def assert_hook_of_files_unnoticed(use, folder, **how):
    """What the hook of a source of files hears is the same for both files."""
    one, two = [], []
    for name, heard in (("one", one), ("two", two)):
        use(read(folder / name / "table.csv", progress=lambda *numbers, heard=heard: heard.append(numbers), **how))
    assert one
    assert one == two


def test_zero_rows_change_nothing_of_a_sketch():
    X, _ = rows()
    bounds = Bounds(features=BOUNDS.features)
    sketches = [
        release_sketch(table, bounds=bounds, rows=20, constant=True, **PRIVATE)
        for table in (X, *with_zero_rows(PLACES["middle"], X))
    ]
    np.testing.assert_array_equal(sketches[0].rows_, sketches[1].rows_)
    assert sketches[0].report == sketches[1].report
    assert "300" not in sketches[0].report.to_text()
    np.testing.assert_array_equal(*(sketch.principal_components(2).variances for sketch in sketches))
    without = release_sketch(X, bounds=bounds, rows=20, **PRIVATE)
    with pytest.raises(ParameterError, match="constant=True"):
        without.principal_components(2)


class OwnCoins:
    """A coin that each row carries with it: whether its target has an even last digit."""

    def __init__(self, target):
        self.words = lambda count: np.where(np.nan_to_num(target) * 1e6 % 5 < 1, 0, 2**64 - 1).astype(np.uint64)


def test_zero_rows_change_nothing_of_a_search(monkeypatch):
    """Each row keeps its part: a search that divided rows by their place would fit on others."""
    found = []
    for X, y in (rows(), with_zero_rows(PLACES["middle"], *rows())):
        by_coins = grid_search.in_scoring_part
        monkeypatch.setattr(
            grid_search, "in_scoring_part", lambda n, share, coins, y=y, f=by_coins: f(n, share, coins and OwnCoins(y))
        )
        given = {name: value for name, value in PRIVATE.items() if name != "bad_rows"}
        model = PrivateLinearRegression(bounds=BOUNDS, bad_rows="zero")
        search = PrivateGridSearch(model, {"method": ["whitened", "adassp"]}, **given).fit(X, y)
        monkeypatch.undo()
        found.append((search.results_, search.search_report_, shown(search.best_estimator_)))
    assert found[0] == found[1]
    assert found[0][1].n_scoring is None


def test_coins_of_a_search_do_not_depend_on_places():
    """Which rows are for scoring differs from search to search, where places would give the same each time."""
    parts = [grid_search.in_scoring_part(400, 0.3, bits) for bits in grid_search.streams(None, 2)]
    assert (parts[0] != parts[1]).any()
    assert all(60 < part.sum() < 190 for part in parts)
