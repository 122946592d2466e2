"""Yes/no outcomes and counts through the whole path: labels, tables, files, units, ledgers, reports and model files."""

import html

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpols import (
    Bounds,
    BudgetLedger,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    read,
)
from dpols.errors import (
    BadRowsError,
    BoundsError,
    DataError,
    ModelFileError,
    NotPrivateWarning,
    ParameterError,
)
from dpols.estimators import load_any
from dpols.feature_map import CategoricalColumn, FeatureMap, NumericColumn
from dpols.verification import verify_file

AGES = Bounds(features={"age": (18, 90), "bmi": (15, 50)})


def table(n_rows=6000):
    rng = np.random.default_rng(11)
    age, bmi = rng.uniform(18, 90, n_rows), rng.uniform(15, 50, n_rows)
    eta = -1.0 + 0.05 * (age - 54) + 0.08 * (bmi - 32)
    sick = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-eta))
    return {"age": age, "bmi": bmi}, np.where(sick, "yes", "no"), np.minimum(rng.poisson(np.exp(0.4 * eta)), 20)


def frame(**more):
    pandas = pytest.importorskip("pandas")
    columns, sick, visits = table()
    return pandas.DataFrame({**columns, "sick": sick, "visits": visits, **more})


def logistic(**changes):
    return PrivateLogisticRegression(**({"epsilon": 2.0, "delta": 1e-6, "bounds": AGES, "random_state": 3} | changes))


def arrays():
    columns, sick, visits = table()
    return np.column_stack(list(columns.values())), sick, visits


RANGES = Bounds(features=[(18, 90), (15, 50)])


def test_a_fit_is_near_the_true_odds_and_says_so():
    X, sick, _ = arrays()
    model = logistic(bounds=RANGES, epsilon=4.0).fit(X, sick)
    np.testing.assert_allclose(model.coef_, [[0.05, 0.08]], atol=0.01)
    assert model.classes_.tolist() == ["no", "yes"]
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert ((probabilities[:, 1] > 0.5) == (model.predict(X) == "yes")).all()
    assert (model.predict(X) == sick).mean() > 0.7
    report = model.privacy_report_
    assert report.verdict == "better than predicting a constant"
    assert "deviance" in report.verdict_reason
    assert ("linear predictor", "[-12, 12]") in report.bounds
    assert [line.value for line in report.coefficients] == [*model.coef_[0], model.intercept_[0]]


def test_reports_and_summaries_say_which_label_is_the_yes():
    people = frame().drop(columns="visits")
    for classes, words in ((None, "sick (yes: yes, no: no)"), (("yes", "no"), "sick (yes: no, no: yes)")):
        model = logistic(classes=classes).fit(people, "sick")
        assert f"Dep. variable  {words}" in str(model.summary())
    report = model.privacy_report_
    texts = report.to_text(), html.unescape(report.to_html()), report.to_markdown()
    assert all("the labels 'yes' (no) and 'no' (yes) of the target" in text for text in texts)
    again = type(report).from_dict(report.to_dict())
    assert again == report
    with pytest.raises(ModelFileError, match="labels are those of a no and of a yes"):
        type(report).from_dict({**report.to_dict(), "labels": ["no"]})


@pytest.mark.filterwarnings("ignore:the fit is NOT PRIVATE")
def test_labels_that_were_found_are_said_to_be_and_declared_ones_are_not():
    X, sick, _ = arrays()
    found, declared = logistic(bounds=RANGES).fit(X, sick), logistic(bounds=RANGES, classes=("no", "yes")).fit(X, sick)
    labels = "the labels 'no' (no) and 'yes' (yes) of the target"
    assert found.privacy_report_.assumed_public[-1] == f"{labels}, which were found in the data"
    assert declared.privacy_report_.assumed_public[-1] == labels
    assert found.privacy_report_.described[0] == ("Dep. variable", "yes: yes, no: no")
    np.testing.assert_array_equal(found.coef_, declared.coef_)
    turned = logistic(bounds=RANGES, classes=("yes", "no"), epsilon=50.0).fit(X, sick)
    assert turned.classes_.tolist() == ["yes", "no"]
    np.testing.assert_allclose(turned.coef_, -found.coef_, atol=0.02)


def outcomes_of(y, **changes):
    model = logistic(**changes)
    return model, model._outcomes(np.zeros((len(y), 1)), y)[1]


@pytest.mark.parametrize(("rare", "others"), [("HIV", "no"), (31337, 0), (2.0, 1.0)])
def test_a_fit_whose_labels_one_row_decides_is_not_private(rare, others, tmp_path):
    X, *_ = arrays()
    ledger = BudgetLedger(tmp_path / "l.sqlite", epsilon=3.0, delta=1e-5)
    y = np.array([others] * (len(X) - 1) + [rare], dtype=object)
    with pytest.warns(NotPrivateWarning, match=r"NOT PRIVATE: the labels of the target were found .* classes="):
        model = logistic(bounds=RANGES, random_state=None, ledger=ledger).fit(X, y)
    assert ledger.entries()[-1].what.endswith("; NOT PRIVATE: labels found in the data")
    assert not model.privacy_report_.private
    assert "labels of the target were found" in model.privacy_report_.alarm
    with pytest.raises(DataError, match="looks for no labels"):
        logistic(bounds=RANGES, bad_rows="zero").fit(X, y)


@pytest.mark.filterwarnings("error::dpols.errors.NotPrivateWarning")
@pytest.mark.parametrize("y", [[0, 1, 1, 0], [0, 0, 0, 0], [1.0, 1.0], np.array([True, True]), np.array([0.0, 1.0])])
def test_0_and_1_are_labels_whether_or_not_both_occur(y):
    model, numbers = outcomes_of(y)
    assert model.classes_.tolist() == [0, 1]
    assert not model._found
    assert numbers.tolist() == [float(each) for each in y]


@pytest.mark.extras
@pytest.mark.parametrize("odd", [None, 2, -1, 7])
def test_where_bad_rows_count_as_zeros_one_label_changes_its_own_row_alone(odd):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    cells = [0, 1, odd, 1, 0]
    columns = [
        pandas.array(cells, "Int64"),
        polars.Series(cells),
        pyarrow.array(cells),
        pandas.Series(cells, dtype=float),
    ]
    for column in columns:
        model, numbers = outcomes_of(column, bad_rows="zero")
        assert repr(model.classes_.tolist()) == "[0, 1]"
        np.testing.assert_array_equal(numbers, [0.0, 1.0, np.nan, 1.0, 0.0])


def test_errors_about_labels_tell_neither_their_number_nor_their_types():
    texts = set()
    for third in (2, 3, 17):
        with pytest.raises(DataError, match="Only binary classification is supported") as caught:
            outcomes_of(np.arange(third + 1))
        texts.add(str(caught.value))
    for odd in (3, 1.5, b"x", ("a",), ["l"]):
        with pytest.raises(DataError, match="Unknown label type") as caught:
            outcomes_of(np.array(["no", "yes", odd, "no"], dtype=object))
        texts.add(str(caught.value))
    assert len(texts) == 2


@pytest.mark.filterwarnings("ignore:the fit is NOT PRIVATE")
@pytest.mark.parametrize("labels", [(0, 1), (False, True), (-1.0, 1.0), (3, 8), ("a", "b")])
def test_every_kind_of_label_gives_the_same_fit(labels):
    X, sick, _ = arrays()
    expected = logistic(bounds=RANGES).fit(X, sick)
    y = np.array(labels)[(sick == "yes").astype(int)]
    for model in (logistic(bounds=RANGES), logistic(bounds=RANGES, classes=labels)):
        np.testing.assert_array_equal(model.fit(X, y).coef_, expected.coef_)
        assert set(model.predict(X).tolist()) == set(labels)


@pytest.mark.parametrize("classes", ["no", ("no",), ("a", "a"), (1, 2, 3), 5, (1, "a"), (0.0, float("nan"))])
def test_labels_that_are_not_two_are_refused(classes):
    X, sick, _ = arrays()
    with pytest.raises(ParameterError, match="classes="):
        logistic(bounds=RANGES, classes=classes).fit(X, sick)


def test_other_labels_are_bad_rows():
    X, sick, _ = arrays()
    sick = sick.astype(object)
    sick[:40] = "perhaps"
    with pytest.raises(BadRowsError):
        logistic(bounds=RANGES, classes=("no", "yes")).fit(X, sick)
    model = logistic(bounds=RANGES, classes=("no", "yes"), bad_rows="zero").fit(X, sick)
    X[:40] = np.nan
    same = logistic(bounds=RANGES, classes=("no", "yes"), bad_rows="zero").fit(X, sick)
    np.testing.assert_array_equal(model.coef_, same.coef_)


@pytest.mark.extras
@pytest.mark.parametrize(
    ("classes", "cells", "expected"),
    [
        (("1", "2"), [1, 2.0, "1", " 2 ", "1.0", True, None], [0, 1, 0, 1, 0, np.nan, np.nan]),
        (("true", "FALSE"), [True, False, "TRUE", 1], [0, 1, 0, np.nan]),
        ((2**53, 2**53 + 1), [2**53, 2**53 + 1, 2**53 + 2, 2.0**53, str(2**53 + 1)], [0, 1, np.nan, np.nan, 1]),
    ],
    ids=["numbers as text", "truth values as text", "beyond 2^53"],
)
def test_a_label_is_the_same_in_a_vector_and_in_a_column(classes, cells, expected):
    pd = pytest.importorskip("pandas")
    column = pd.Series(cells, dtype=object)
    for X, y in ((np.zeros((len(cells), 1)), cells), (pd.DataFrame({"x": 0.0, "y": column}), "y")):
        np.testing.assert_array_equal(logistic(classes=classes)._outcomes(X, y)[1], expected)


BIG = [2**53, 2**53 + 1, 2**53 + 1, 2**53]
WHOLE_COLUMNS = {
    "pyarrow": lambda cells: pytest.importorskip("pyarrow").array(cells, "int64"),
    "pyarrow in chunks": lambda cells: pytest.importorskip("pyarrow").chunked_array([cells[:2], cells[2:]], "int64"),
    "polars": lambda cells: pytest.importorskip("polars").Series(cells, dtype=pytest.importorskip("polars").Int64),
    "pandas": lambda cells: pytest.importorskip("pandas").Series(cells, dtype="Int64"),
    "pandas of pyarrow": lambda cells: pytest.importorskip("pandas").Series(cells, dtype="int64[pyarrow]"),
}


@pytest.mark.extras
@pytest.mark.parametrize("kind", WHOLE_COLUMNS.values(), ids=WHOLE_COLUMNS)
@pytest.mark.parametrize(("first", "offset"), [(2**53, 0), (3, 2**53 - 3)], ids=["beyond 2^53", "small"])
def test_a_missing_label_changes_no_other_where_a_column_has_whole_numbers(kind, first, offset):
    cells = [cell - offset for cell in BIG]
    model = logistic(classes=(first, first + 1), bad_rows="zero")
    for missing in (None, 0, 3):
        column = kind([None if row == missing else cell for row, cell in enumerate(cells)])
        expected = [np.nan if row == missing else label for row, label in enumerate([0.0, 1.0, 1.0, 0.0])]
        np.testing.assert_array_equal(model._outcomes(np.zeros((4, 1)), column)[1], expected)


@pytest.mark.parametrize("bad", ["oops", None, float("nan"), b"x", [1, 2], {}, 1j, np.ma.masked], ids=str)
@pytest.mark.parametrize("container", [list, tuple, "objects"])
@pytest.mark.parametrize("classes", [(0, 1), (False, True), ("0", "1")], ids=str)
def test_a_bad_label_makes_only_its_own_row_bad(classes, container, bad):
    """Labels that match none of the declared ones are no exception: a text among numbers makes texts of no others."""
    y = [0, True, 1, 0.0, "1", "no", 1.0, "0"]
    numeric = not isinstance(classes[0], str)
    expected = [0.0, 1.0 if numeric else np.nan, 1.0, 0.0, 1.0, np.nan, 1.0, 0.0]  # the text of True is another
    for place in range(len(y)):
        cells = [bad if row == place else label for row, label in enumerate(y)]
        if container == "objects":
            values = np.empty(len(cells), dtype=object)
            for row, cell in enumerate(cells):
                values[row] = cell
        else:
            values = container(cells)
        _, found = logistic(classes=classes)._outcomes(np.zeros((len(y), 1)), values)
        np.testing.assert_array_equal(found, [np.nan if row == place else x for row, x in enumerate(expected)])


@pytest.mark.extras
@pytest.mark.parametrize(
    ("classes", "no", "yes"),
    [
        ((0, 1), False, True),
        ((1, 0), True, False),
        ((False, True), 0, 1),
        (("no", "yes"), "No", " YES"),
        (("a", "A"), "a", "A"),
    ],
)
def test_a_label_is_the_same_in_a_vector_a_named_column_and_a_file(classes, no, yes, tmp_path):
    rows = frame().head(2000)
    rows["sick"] = np.where(rows["sick"] == "yes", yes, no)
    rows.to_parquet(tmp_path / "rows.parquet")
    model = logistic(classes=classes)
    in_a_vector = model.fit(rows[["age", "bmi"]], rows["sick"]).coef_
    assert (in_a_vector != 0.0).all()
    if classes != ("a", "A"):  # categories that differ in case alone are refused where they are declared
        for X, y in (
            (rows[["age", "bmi", "sick"]], "sick"),
            (read(tmp_path / "rows.parquet", "sick", ["age", "bmi"]), None),
        ):
            np.testing.assert_array_equal(model.fit(X, y).coef_, in_a_vector)


def test_labels_of_bytes_are_no_texts():
    X, sick, _ = arrays()
    expected = logistic(bounds=RANGES, classes=("no", "yes")).fit(X, sick).coef_
    found = logistic(bounds=RANGES, classes=(b"no", b"yes")).fit(X, sick.astype("S")).coef_
    np.testing.assert_array_equal(found, expected)


def test_one_bad_label_hardly_moves_a_fit():
    X, sick, _ = arrays()
    y = (sick == "yes").astype(int).tolist()
    found = []
    for label in (float("nan"), "oops"):
        y[7] = label
        model = logistic(bounds=RANGES, classes=(0, 1), bad_rows="zero").fit(X, list(y))
        found.append(model.coef_)
    np.testing.assert_array_equal(*found)
    assert found[0].all()


def test_one_or_three_labels_are_refused_without_a_charge(tmp_path):
    X, sick, _ = arrays()
    ledger = BudgetLedger(tmp_path / "l.sqlite", epsilon=3.0, delta=1e-5)
    model = logistic(bounds=RANGES, ledger=ledger)
    for y in (np.full(len(X), "no"), np.where(X[:, 0] > 60, "old", sick)):
        with pytest.raises(DataError, match="class"):
            model.fit(X, y)
    assert not ledger.entries()
    assert not hasattr(model, "classes_")
    assert model.fit(X, sick).ledger_entry_ is not None


def test_ranges_that_an_outcome_does_not_have_are_refused():
    X, sick, visits = arrays()
    with pytest.raises(BoundsError, match="leave it out"):
        logistic(bounds=Bounds(features=[(18, 90), (15, 50)], target=(0, 5))).fit(X, sick)
    for target in (None, (-3, 10)):
        with pytest.raises(BoundsError, match="counts need a range"):
            PrivatePoissonRegressor(1.0, 1e-6, Bounds(features=[(18, 90), (15, 50)], target=target)).fit(X, visits)
    with pytest.raises(ParameterError, match="one estimator for each family"):
        PrivateLinearRegression(1.0, 1e-6, Bounds(features=[(18, 90), (15, 50)], target=(0, 1)), method="logistic").fit(
            X, visits
        )


def test_counts_are_near_the_true_rates_and_within_the_range():
    X, _, visits = arrays()
    bounds = Bounds(features=[(18, 90), (15, 50)], target=(0, 20))
    model = PrivatePoissonRegressor(4.0, 1e-6, bounds, random_state=0).fit(X, visits)
    np.testing.assert_allclose(model.coef_, [0.02, 0.032], atol=0.004)
    wild = np.array([[1e4, 1e4], [-1e4, -1e4]])
    assert model.predict(wild)[0] == pytest.approx(20.0)
    assert 0.0 < model.predict(wild)[1] < 1e-4
    with pytest.warns(match="score is not private"):
        assert 0.1 < model.score(X, visits) < 0.5


@pytest.mark.extras
class TestTables:
    """Tables and files by column name."""

    @pytest.mark.filterwarnings("ignore:the fit is NOT PRIVATE")
    def test_a_column_of_labels_by_name_is_the_same_in_every_table(self, tmp_path):
        polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
        rows = frame()[["age", "bmi", "sick"]]
        expected = logistic(bounds=RANGES).fit(*arrays()[:2])
        for each in (rows, polars.DataFrame(rows.to_dict("list")), pyarrow.table(rows.to_dict("list"))):
            for model in (logistic(), logistic(classes=("no", "yes"))):
                np.testing.assert_array_equal(model.fit(each, "sick").coef_, expected.coef_)
                assert model.feature_names_in_.tolist() == ["age", "bmi"]

    @pytest.mark.filterwarnings("ignore:the fit is NOT PRIVATE")
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_labels_in_files_are_read_as_they_are_declared(self, tmp_path, suffix):
        rows, path = frame(), tmp_path / f"rows.{suffix}"
        rows.to_csv(path, index=False) if suffix == "csv" else rows.to_parquet(path)
        expected = logistic().fit(rows[["age", "bmi", "sick"]], "sick")
        model = logistic(classes=("no", "yes")).fit(read(path, "sick", ["age", "bmi"]))
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        with pytest.raises(Exception, match="sick"):
            logistic().fit(read(path, "sick", ["age", "bmi"]))  # labels that are not declared are 0 and 1

    def test_a_feature_map_needs_no_range_of_a_label(self, tmp_path):
        rows, path = frame(region=["n", "s"] * 3000), tmp_path / "rows.csv"
        rows.to_csv(path, index=False)
        declared = FeatureMap({"age": NumericColumn(18, 90), "region": CategoricalColumn(["n", "s"])})
        models = [
            logistic(bounds=None, feature_map=declared, classes=("no", "yes")).fit(*data)
            for data in ((rows, "sick"), (read(path, "sick", ["age", "region"]),))
        ]
        np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-9)
        assert models[0].feature_map_.names == ("age", "region[s]")

    def test_units_are_protected_as_a_whole(self):
        rows = frame(person=np.arange(6000) // 3)
        model = logistic(unit="person", max_rows_per_unit=3, epsilon=8.0).fit(
            rows[["age", "bmi", "sick", "person"]], "sick"
        )
        assert model.privacy_report_.rows_per_unit == 3
        np.testing.assert_allclose(model.coef_, [[0.05, 0.08]], atol=0.02)

    def test_dask_sums_give_the_same_fit(self):
        dask = pytest.importorskip("dask.dataframe")
        rows = frame()[["age", "bmi", "visits"]]
        model = PrivatePoissonRegressor(
            2.0,
            1e-6,
            Bounds(features={"age": (18, 90), "bmi": (15, 50)}, target=(0, 20)),
            random_state=1,
            options={"n_iterations": 4},
        )
        here = model.fit(rows, "visits").coef_
        there = model.fit(dask.from_pandas(rows, npartitions=3), "visits").coef_
        np.testing.assert_array_equal(here, there)
        yes = rows.assign(often=(rows["visits"] > 1).astype(int)).drop(columns="visits")
        near = logistic(options={"n_iterations": 4}).fit(yes, "often").coef_
        far = logistic(options={"n_iterations": 4}).fit(dask.from_pandas(yes, npartitions=3), "often").coef_
        np.testing.assert_array_equal(near, far)
        with pytest.raises(DataError, match="two rising numbers"):
            logistic(classes=("no", "yes")).fit(dask.from_pandas(yes, npartitions=3), "often")


class Query:
    """Rows that come as a stream of Arrow, as those of a query do."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.extras
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("where", ["query", "parquet", "csv"])
def test_numbers_that_are_no_labels_are_bad_rows_wherever_rows_come_from(where, arithmetic, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = frame().head(3000)
    no = np.where(rows["sick"] == "no", 1.0, 2.0)

    def fit(outcome, **changes):
        whole = pyarrow.table({"age": rows["age"], "bmi": rows["bmi"], "sick": outcome})
        path = tmp_path / f"rows.{where}"
        if where == "parquet":
            parquet.write_table(whole, path)
        elif where == "csv":
            whole.to_pandas().to_csv(path, index=False)
        X, y = (Query(whole), "sick") if where == "query" else (read(path, "sick"), None)
        there = logistic(arithmetic=arithmetic, **changes).fit(X, y).coef_
        in_memory = logistic(arithmetic=arithmetic, **changes).fit(whole, "sick").coef_
        np.testing.assert_allclose(there, in_memory, rtol=0 if arithmetic == "exact" else 1e-9)
        return there

    with pytest.raises(BadRowsError, match="A label is not in 0 and 1"):
        fit(no)
    right = fit(no, classes=(1, 2))
    for odd in (0.0, 1.5, 7.0):
        changed = no.copy()
        changed[5] = odd
        with pytest.raises(BadRowsError, match=r"A label is not in classes=\(1, 2\)"):
            fit(changed, classes=(1, 2))
        empty = no.copy()
        empty[5] = np.nan
        zero = {"classes": (1, 2), "bad_rows": "zero"}
        assert fit(changed, **zero).tolist() == fit(empty, **zero).tolist() != right.tolist()


def test_model_files_keep_family_and_labels(tmp_path):
    X, sick, visits = arrays()
    models = {
        "yes.json": logistic(bounds=RANGES).fit(X, sick),
        "count.json": PrivatePoissonRegressor(
            1.0, 1e-6, Bounds(features=[(18, 90), (15, 50)], target=(0, 20)), random_state=0
        ).fit(X, visits),
    }
    for name, model in models.items():
        model.save(tmp_path / name)
        for loaded in (type(model).load(tmp_path / name), load_any(tmp_path / name)):
            assert type(loaded) is type(model)
            np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
            np.testing.assert_array_equal(loaded.coef_, model.coef_)
            assert loaded.privacy_report_ == model.privacy_report_
        assert {f.what for f in verify_file(tmp_path / name) if not f.holds} == {"private as configured"}
        with pytest.raises(ModelFileError, match="load it with the estimator of its family"):
            PrivateLinearRegression.load(tmp_path / name)
    assert type(load_any(tmp_path / "yes.json").classes_[0]) is np.str_


def test_exact_and_float_arithmetic_agree():
    X, sick, visits = arrays()
    counts = Bounds(features=[(18, 90), (15, 50)], target=(0, 20))
    for make, y in (
        (lambda kind: logistic(bounds=RANGES, arithmetic=kind, epsilon=100.0), sick),
        (lambda kind: PrivatePoissonRegressor(100.0, 1e-6, counts, arithmetic=kind, random_state=0), visits),
    ):
        exact, floating = (make(kind).fit(X, y).coef_ for kind in ("exact", "float"))
        np.testing.assert_allclose(exact, floating, rtol=0.03)


def test_replace_one_neighbours_and_no_intercept_work():
    X, sick, _ = arrays()
    model = logistic(bounds=RANGES, neighbours="replace-one", fit_intercept=False).fit(X, sick)
    assert model.intercept_ == 0.0
    assert model.privacy_report_.spent_epsilon <= 2.0 * (1.0 + 1e-9)


def test_a_report_promises_no_intervals_that_there_are_not():
    X = np.linspace(-1.0, 1.0, 400)[:, None]
    report = (
        PrivateLogisticRegression(1.0, 1e-6, Bounds(features=[(-1, 1)]), random_state=0)
        .fit(X, X[:, 0] > 0)
        .privacy_report_
    )
    assert report.estimates == report.estimate_notes == ()


def test_where_noise_hides_the_base_rate_no_label_is_certain():
    X = np.random.default_rng(0).uniform(-1, 1, (12, 2))
    for seed in range(6):
        model = logistic(bounds=Bounds(features=[(-1, 1)] * 2), epsilon=1.0, classes=(0, 1), random_state=seed)
        assert 0.1 < model.fit(X, [0, 1] * 6).predict_proba(X)[:, 1].mean() < 0.9


@pytest.mark.filterwarnings("ignore::dpols.errors.InferenceWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("estimator", [PrivateLogisticRegression, PrivatePoissonRegressor])
def test_limits_that_the_noise_hides_are_nan_without_a_warning_of_numpy(estimator):
    X = np.random.default_rng(0).uniform(0.0, 1.0, (300, 2))
    bounds = Bounds(features=[(0, 1)] * 2, target=(0, 1))
    model = estimator(0.2, 1e-6, bounds, inference=True, random_state=0).fit(X, (X[:, 0] > 0.5).astype(int))
    found = model.predict_interval(X[:2])
    assert np.isnan(found["lower"]).all()
    assert not np.isnan(found["mean"]).any()


@pytest.mark.parametrize(("epsilon", "least"), [(3.0, 0.85), (300.0, 0.97)])
def test_slopes_of_steep_outcomes_are_near_those_of_maximum_likelihood(epsilon, least):
    """Predictions near 0 and 1 leave little curvature, so that steps of one length would end far from there."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (20_000, 2))
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(7.0 - X @ [7.0, -1.0]))).astype(float)
    known = LogisticRegression(C=1e12, tol=1e-10).fit(X, y).coef_[0]
    bounds = Bounds(features=[(-1.0, 1.0)] * 2)
    model = PrivateLogisticRegression(epsilon, 1e-6, bounds, classes=(0.0, 1.0), arithmetic="float", random_state=0)
    share = model.fit(X, y).coef_[0] / known
    assert (least < share).all()
    assert (share < 1.1).all()


def test_few_steps_are_enough_to_close_a_fit():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (2_000, 2))
    bounds = Bounds(features=[(-1.0, 1.0)] * 2)
    few = {"n_iterations": 4}
    model = PrivateLogisticRegression(3.0, 1e-6, bounds, classes=(0.0, 1.0), options=few, random_state=0)
    assert np.isfinite(model.fit(X, (X[:, 0] > 0.0).astype(float)).coef_).all()
