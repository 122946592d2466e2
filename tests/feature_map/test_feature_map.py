"""Feature maps: every row for itself, the same in every kind of table, within the bounds that are derived."""

import json
import pickle
import warnings
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from dpols import Bounds, CategoricalColumn, Factor, FeatureMap, NumericColumn, PrivateLinearRegression, read
from dpols.data.bounding import bounded_span
from dpols.data.units import without_column
from dpols.errors import BoundsError, DataError, DataTypeError, ModelFileError, ParameterError
from dpols.feature_map import mapped_files

REGIONS = ["north", "south", "west"]
MAP = FeatureMap(
    {
        "age": NumericColumn(18, 90, missing=45),
        "region": CategoricalColumn(REGIONS, missing="west"),
        "hours": NumericColumn(0, 60),
        "member": CategoricalColumn([True, False], unknown="other", drop_first=False),
    },
    target=(0, 100),
).plus(("age", "age"), ("age", "hours"), ("age", "region"), ("region", "member"))
ROWS = [
    [30.0, "north", 10.0, True],
    [None, "south", 20.0, False],
    [200.0, "abroad", -5.0, None],
    [18.0, None, 61.0, True],
]
KINDS = ("numpy", "pandas", "polars", "pyarrow", "batch")


def table(rows, kind, names=tuple(MAP.columns)):
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    if kind == "numpy":
        made = np.empty((len(rows), len(names)), dtype=object)
        made[:] = rows if rows else made
        return made
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(columns)
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    arrow = pytest.importorskip("pyarrow")
    made = arrow.table(columns)
    return made if kind == "pyarrow" else made.to_batches()[0]


def test_a_row_becomes_what_is_declared():
    features = dict(zip(MAP.names, MAP.transform(table(ROWS, "numpy")).T, strict=True))
    assert features["age"].tolist()[:2] == [30.0, 45.0]
    assert np.isnan(features["age"][2])  # nothing is declared for an empty cell of member, so the row is useless
    np.testing.assert_array_equal(features["region[south]"][[0, 1, 3]], [0, 1, 0])
    np.testing.assert_array_equal(features["region[west]"][[0, 1, 3]], [0, 0, 1])
    np.testing.assert_array_equal(features["hours"][[0, 1, 3]], [10, 20, 60])
    np.testing.assert_array_equal(features["age^2"][[0, 1, 3]], [900, 2025, 324])
    np.testing.assert_array_equal(features["age:region[west]"][[0, 1, 3]], [0, 0, 18])
    assert "region[north]" not in features
    assert {"member[true]", "member[false]", "member[other]", "region[west]:member[other]"} <= set(features)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same(kind):
    np.testing.assert_array_equal(MAP.transform(table(ROWS, kind)), MAP.transform(table(ROWS, "numpy")))


@pytest.mark.parametrize("kind", KINDS[:4])
def test_a_block_without_rows_has_all_features(kind):
    assert MAP.transform(table(ROWS, kind)[:0]).shape == (0, len(MAP.names))


cell = {
    "age": st.one_of(st.none(), st.floats(-1e9, 1e9), st.just(float("inf"))),
    "region": st.one_of(st.none(), st.sampled_from([*REGIONS, "", "NA", "1"])),
    "hours": st.floats(0, 80),
    "member": st.one_of(st.none(), st.booleans()),
}
many_rows = st.lists(st.tuples(*cell.values()).map(list), min_size=1, max_size=12)


@given(rows=many_rows, cuts=st.lists(st.integers(0, 12), max_size=3), kind=st.sampled_from(KINDS[:3]))
@settings(max_examples=60)
def test_no_row_depends_on_another(rows, cuts, kind):
    """However the rows are cut into blocks, each has the same features; that is what the guarantee rests on."""
    whole = MAP.transform(table(rows, kind))
    edges = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    parts = [MAP.transform(table(rows[a:b], "numpy")) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


@given(rows=many_rows)
@settings(max_examples=60)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_features_lie_within_the_derived_bounds_and_no_row_is_shrunk(rows, fit_intercept):
    features = MAP.transform(table(rows, "numpy"))
    features = features[np.isfinite(features).all(axis=1)]
    bounds = MAP.bounds()
    low, high = np.array(list(bounds.features.values())).T
    assert ((features >= low) & (features <= high)).all()
    row_map = bounds.row_map(n_features=len(MAP.names), columns=MAP.names, fit_intercept=fit_intercept)
    span, bad = bounded_span(features, np.zeros(len(features)), row_map, np.empty(features.shape))
    assert bad == 0
    assert np.unique(span.weight).size <= 1
    assert (span.squared_norms() <= 1.0 + 1e-9).all()


def test_categories_count_once_in_the_norm_of_a_row():
    wide = FeatureMap({"x": NumericColumn(-1, 1), "c": CategoricalColumn(range(100), drop_first=False)}, target=(0, 1))
    assert wide.bounds().x_norm ** 2 == pytest.approx(1.0 + 100 / 99)
    assert FeatureMap({"x": NumericColumn(-1, 1)}, target=(0, 1)).bounds().x_norm is None
    assert wide.bounds(x_norm=0.5).x_norm == 0.5


def test_short_rows_bring_a_fit_nearer_to_least_squares():
    rng = np.random.default_rng(0)
    made = FeatureMap({"x": NumericColumn(0, 1), "c": CategoricalColumn(range(20))}, target=(-6, 8))
    rows = np.column_stack([rng.uniform(0, 1, 20_000), rng.integers(0, 20, 20_000)])
    y = np.clip(3 * rows[:, 0] + rng.normal(size=20)[rows[:, 1].astype(int)] + rng.normal(0, 0.5, 20_000), -6, 8)
    features = made.transform(rows)
    design = np.column_stack([features, np.ones(len(y))])
    best = design @ np.linalg.lstsq(design, y, rcond=None)[0]

    def distance(seed, **given):
        model = PrivateLinearRegression(1.0, 1e-6, method="adassp", random_state=seed, **given).fit(features, y)
        return np.sqrt(np.mean((features @ model.coef_ + model.intercept_ - best) ** 2))

    derived, apart = made.bounds(), Bounds(features=[(0, 1)] * len(made.names), target=(-6, 8))
    by_order = Bounds(features=list(derived.features.values()), target=derived.target, x_norm=derived.x_norm)
    short, long = ([distance(seed, bounds=bounds) for seed in range(5)] for bounds in (by_order, apart))
    assert np.median(short) < 0.7 * np.median(long)


@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_categories_are_those_of_scikit_learn():
    values = np.array([["a"], ["c"], ["b"], ["d"]], dtype=object)
    for drop in (None, "first"):
        encoder = OneHotEncoder(categories=[["a", "b", "c"]], drop=drop, handle_unknown="ignore", sparse_output=False)
        mine = FeatureMap({"x": CategoricalColumn(["a", "b", "c"], drop_first=drop is not None)})
        np.testing.assert_array_equal(mine.transform(values), encoder.fit(values[:3]).transform(values))


def test_powers_and_products_are_those_of_scikit_learn():
    rows = np.random.default_rng(0).uniform(-2, 3, (20, 3))
    oracle = PolynomialFeatures(degree=3, include_bias=False).fit(rows)
    terms = ["a" * i + "b" * j + "c" * k for i, j, k in oracle.powers_]
    mine = FeatureMap(dict.fromkeys("abc", NumericColumn(-2, 3)), [list(term) for term in terms])
    np.testing.assert_allclose(mine.transform(rows), oracle.transform(rows), rtol=1e-12)


@pytest.mark.parametrize(
    ("factors", "interval"),
    [
        ([Factor("x", 2)], (0.0, 9.0)),
        ([Factor("x", 3)], (-8.0, 27.0)),
        ([Factor("x", 2, origin=3.0)], (0.0, 25.0)),
        ([Factor("x", 2, origin=-3.0)], (1.0, 36.0)),
        ([Factor("x"), Factor("y")], (-15.0, 10.0)),
        ([Factor("x", 2), Factor("y")], (-45.0, 0.0)),
    ],
)
def test_ranges_are_derived_as_intervals(factors, interval):
    made = FeatureMap({"x": NumericColumn(-2, 3), "y": NumericColumn(-5, -0.0)}, [factors])
    assert next(iter(made.bounds().features.values())) == interval


@pytest.mark.parametrize("values", [[1, 2], ["1", "2"], [1.0, 2.0], ["1.0", " 2"], [True, False]])
def test_numbers_match_equal_numbers_however_they_are_stored(values):
    declared = [True, False] if values[0] is True else [1, 2]
    made = FeatureMap({"x": CategoricalColumn(declared, drop_first=False)})
    for kind in KINDS:
        np.testing.assert_array_equal(made.transform(table([[v] for v in values], kind, ("x",))), np.eye(2))


def test_text_that_looks_like_a_number_stays_text():
    made = FeatureMap({"x": CategoricalColumn(["007", "7"], drop_first=False)})
    np.testing.assert_array_equal(
        made.transform(table([["007"], ["7"], ["7.0"]], "numpy", ("x",))), [[1, 0], [0, 1], [0, 0]]
    )


def test_true_and_one_are_told_apart_whichever_comes_first():
    pandas = pytest.importorskip("pandas")
    made = FeatureMap({"x": CategoricalColumn(["true", "1"], drop_first=False)})
    for values in ([True, 1], [1, True]):
        frame = pandas.DataFrame({"x": pandas.Series(values, dtype=object)})
        expected = [[1, 0] if value is True else [0, 1] for value in values]
        np.testing.assert_array_equal(made.transform(frame), expected)


@pytest.mark.extras
def test_every_type_that_holds_the_same_cells_gives_the_same():
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = [row for row in ROWS if row[3] is not None]
    expected = MAP.transform(table(rows, "numpy"))
    frame, columns = table(rows, "pandas"), table(rows, "pyarrow")
    halves = [columns["region"].slice(0, 1).combine_chunks(), columns["region"].slice(1).combine_chunks()]
    place = columns.schema.get_field_index("region")
    tables = [
        frame.assign(region=frame["region"].astype("category")),
        frame.assign(region=frame["region"].astype("string"), member=frame["member"].astype("boolean")),
        frame.assign(age=frame["age"].astype("Int64"), hours=frame["hours"].astype(object)),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        columns.set_column(place, "region", arrow.chunked_array([half.dictionary_encode() for half in halves])),
        columns.set_column(place, "region", columns["region"].cast(arrow.large_string())),
        polars.from_pandas(frame).with_columns(polars.col("region").cast(polars.Categorical)),
        polars.from_pandas(frame).with_columns(polars.col("age").cast(polars.Int16)),
    ]
    assert isinstance(frame, pandas.DataFrame)
    for other in tables:
        np.testing.assert_array_equal(MAP.transform(other), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_text_among_numbers_is_refused_without_quoting_it(kind):
    rows = [["SECRET", "north", 1.0, True]]
    with pytest.raises(DataTypeError, match="column 'age' is declared as numbers") as caught:
        MAP.transform(table(rows, kind))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS[1:4])
def test_a_missing_column_is_named(kind):
    rows = [[1.0, "north", True]]
    with pytest.raises(DataError, match="no column 'hours'"):
        MAP.transform(table(rows, kind, ("age", "region", "member")))


@pytest.mark.parametrize("kind", ["date32[day]", "timestamp[s, tz=Europe/Berlin]", "duration[s]"])
def test_times_are_refused_without_quoting_them(kind):
    pa = pytest.importorskip("pyarrow")
    made = FeatureMap({"x": CategoricalColumn(["a", "b"])})
    types = {str(one): one for one in (pa.date32(), pa.timestamp("s", "Europe/Berlin"), pa.duration("s"))}
    for far in (0, 2**30 if kind.startswith("date") else 2**60):  # the second one is beyond Python's own times
        with pytest.raises(DataTypeError, match="must hold text, numbers or booleans"):
            made.transform(pa.table({"x": pa.array([0, far], types[kind])}))


def test_cells_of_another_kind_are_refused():
    made = FeatureMap({"x": CategoricalColumn(["a", "b"])})
    rows = np.empty((1, 1), dtype=object)
    rows[0, 0] = ["SECRET"]
    with pytest.raises(DataTypeError, match="type list") as caught:
        made.transform(rows)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(DataError, match="the rows have 2 columns, but the map has 1"):
        made.transform(np.zeros((3, 2)))


BAD = {
    "no columns": lambda: FeatureMap({}),
    "no column": lambda: FeatureMap({"x": (0, 1)}),
    "low above high": lambda: NumericColumn(1, 0),
    "not finite": lambda: NumericColumn(0, float("inf")),
    "missing outside": lambda: NumericColumn(0, 1, missing=2),
    "missing of text": lambda: NumericColumn(0, 1, missing="1"),
    "one category": lambda: CategoricalColumn(["a"]),
    "category twice": lambda: CategoricalColumn(["a", "b", "a"]),
    "equal numbers": lambda: CategoricalColumn([1, 1.0]),
    "empty category": lambda: CategoricalColumn(["a", ""]),
    "other twice": lambda: CategoricalColumn(["a", "other"], unknown="other"),
    "a text as list": lambda: CategoricalColumn("abc"),
    "unknown rule": lambda: CategoricalColumn(["a", "b"], unknown="drop"),
    "missing no category": lambda: CategoricalColumn(["a", "b"], missing="c"),
    "undeclared": lambda: FeatureMap({"x": NumericColumn(0, 1)}, ["y"]),
    "power of categories": lambda: FeatureMap({"x": CategoricalColumn(["a", "b"])}, [("x", "x")]),
    "same term twice": lambda: FeatureMap({"x": NumericColumn(0, 1)}, ["x", ["x"]]),
    "no terms": lambda: FeatureMap({"x": NumericColumn(0, 1)}, []),
    "huge power": lambda: FeatureMap({"x": NumericColumn(0, 1e90)}, [["x"] * 5]),
    "high power": lambda: FeatureMap({"x": NumericColumn(0, 1)}, [["x"] * 17]),
    "target": lambda: FeatureMap({"x": NumericColumn(0, 1)}, target=(1, 1)),
    "too many": lambda: FeatureMap(dict.fromkeys("abc", CategoricalColumn(range(100))), [("a", "b", "c")]),
    "names alike": lambda: FeatureMap({"a": CategoricalColumn(["x", "y"]), "a[y]": NumericColumn(0, 1)}),
}


@pytest.mark.parametrize("case", BAD)
def test_what_makes_no_sense_is_refused(case):
    with pytest.raises(BoundsError):
        BAD[case]()


def test_a_map_is_plain_data():
    assert FeatureMap.from_dict(json.loads(json.dumps(MAP.to_dict()))) == MAP
    named = FeatureMap(MAP.columns, target=(0, 100), target_name="pay")
    assert FeatureMap.from_dict(json.loads(json.dumps(named.to_dict()))) == named
    assert pickle.loads(pickle.dumps(MAP)) == MAP
    assert clone(PrivateLinearRegression(feature_map=MAP)).feature_map == MAP


def test_damaged_plain_data_is_refused():
    whole = MAP.to_dict()
    changes = [
        lambda d: d.pop("terms"),
        lambda d: d.update(more=1),
        lambda d: d["columns"]["age"].update(kind="text"),
        lambda d: d["columns"]["age"].update(low="0"),
        lambda d: d["columns"]["age"].update(low=100.0),
        lambda d: d["columns"]["age"].pop("missing"),
        lambda d: d["columns"]["region"].update(categories=[1, 2]),
        lambda d: d["columns"]["region"].update(drop_first=1),
        lambda d: d["columns"].pop("age"),
        lambda d: d["terms"][0][0].update(power=0),
        lambda d: d["terms"][0][0].update(column="nowhere"),
        lambda d: d["terms"].append([]),
        lambda d: d.update(target=[0.0]),
    ]
    for change in changes:
        changed = json.loads(json.dumps(whole))
        change(changed)
        with pytest.raises(ModelFileError):
            FeatureMap.from_dict(changed)
    with pytest.raises(ModelFileError):
        FeatureMap.from_dict(None)


def people(n_rows=4000):
    rng = np.random.default_rng(0)
    age, hours = rng.uniform(18, 90, n_rows).round(1), rng.uniform(0, 60, n_rows).round(1)
    region = rng.choice([*REGIONS, "NA"], n_rows)
    member = rng.choice([True, False], n_rows)
    pay = np.clip(5 + 0.5 * age + 0.3 * hours + 8.0 * (region == "west") - 4.0 * member, 0, 100).round(2)
    rows = [
        [None if i % 40 == 0 else a, r, h, bool(m)]
        for i, (a, r, h, m) in enumerate(zip(age, region, hours, member, strict=True))
    ]
    return rows, pay


SMALL = FeatureMap(MAP.columns, target=(0, 100))


@pytest.mark.extras
def test_the_range_of_another_target_is_not_used(tmp_path):
    pytest.importorskip("pandas")
    rows, pay = people()
    frame = table(rows, "pandas").assign(pay=pay, cost=pay)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    named = FeatureMap(SMALL.columns, SMALL.terms, SMALL.target, target_name="pay").plus(("hours", "hours"))
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=named)
    for data in ((frame, "cost"), (read(tmp_path / "rows.csv", target="cost"),)):
        with pytest.raises(BoundsError, match="'cost', but its declared range is that of 'pay'"):
            model.fit(*data)
    model.fit(frame, "pay")
    model.fit(table(rows, "pandas"), pay)
    with pytest.raises(BoundsError, match="target_name"):
        FeatureMap(SMALL.columns, target_name="pay")


@pytest.mark.extras
def test_memory_csv_and_parquet_give_the_same_fit(tmp_path):
    pytest.importorskip("pandas")
    rows, pay = people()
    frame = table(rows, "pandas").assign(pay=pay, note="unused")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    models = [
        PrivateLinearRegression(1.0, 1e-6, feature_map=SMALL, random_state=0).fit(*data)
        for data in (
            (frame, "pay"),
            (table(rows, "numpy"), pay),
            (table(rows, "polars"), pay),
            (read(tmp_path / "rows.csv", target="pay"),),
            (read(tmp_path / "rows.parquet", target="pay"),),
        )
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        named = replace(model.privacy_report_, target_name="pay", table_name=None)  # arrays have no name, files do
        assert named == models[0].privacy_report_
    assert models[0].feature_names_in_.tolist() == ["age", "region", "hours", "member"]


@pytest.mark.extras
def test_the_meaning_of_a_csv_cell_does_not_depend_on_its_neighbours(tmp_path):
    """pyarrow would take a column of nothing but NA for empty, and one of digits for numbers."""
    pytest.importorskip("pyarrow")
    made = FeatureMap({"x": CategoricalColumn(["NA", "007", "true", "nan"], missing="true", drop_first=False)})
    for value, place in (("NA", 0), ("007", 1), ("true", 2), ("", 2), ("nan", 3)):
        for others in ([], ["text"], ["1"], [""]):
            (tmp_path / "x.csv").write_text("x,y\n" + "".join(f"{v},0\n" for v in [value, *others]))
            source = mapped_files(made, read(tmp_path / "x.csv", target="y"))
            features = np.concatenate([features for features, _ in source.blocks()])
            assert features[0].tolist() == np.eye(4)[place].tolist()


def test_without_noise_a_fit_is_least_squares_on_the_features():
    rows, pay = people()
    model = PrivateLinearRegression(1e7, 1e-3, feature_map=SMALL, method="adassp", arithmetic="float", random_state=0)
    model.fit(table(rows, "numpy"), pay)
    design = np.column_stack([SMALL.transform(table(rows, "numpy")), np.ones(len(pay))])
    best, *_ = np.linalg.lstsq(design, pay, rcond=None)
    predicted = model.predict(table(rows, "numpy"))
    np.testing.assert_allclose(predicted, design @ best, atol=0.05)


def test_a_saved_model_predicts_raw_rows(tmp_path):
    rows, pay = people()
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=SMALL).fit(table(rows, "numpy"), pay)
    model.save(tmp_path / "model.json")
    loaded = PrivateLinearRegression.load(tmp_path / "model.json")
    assert loaded.feature_map_ == SMALL
    assert loaded.privacy_report_ == model.privacy_report_
    np.testing.assert_array_equal(loaded.predict(table(rows, "numpy")), model.predict(table(rows, "numpy")))
    assert [c.name for c in loaded.privacy_report_.coefficients] == [*SMALL.names, "intercept"]
    with pytest.raises(DataError, match="X has missing or infinite values; a prediction"):
        loaded.predict(table(ROWS, "numpy"))


def test_rows_without_a_replacement_follow_the_rule_for_bad_rows():
    rows, pay = people()
    rows[3][2] = None
    with pytest.raises(DataError, match="Input contains NaN or infinity, and"):
        PrivateLinearRegression(1.0, 1e-6, feature_map=SMALL).fit(table(rows, "numpy"), pay)
    PrivateLinearRegression(1.0, 1e-6, feature_map=SMALL, bad_rows="zero").fit(table(rows, "numpy"), pay)


def test_rows_may_belong_to_units():
    rows, pay = people(900)
    units = np.arange(900) // 3
    model = PrivateLinearRegression(1.0, 1e-6, feature_map=SMALL, max_rows_per_unit=2)
    model.fit(table(rows, "numpy"), pay, groups=units)
    assert model.privacy_report_.rows_per_unit == 2


@pytest.mark.extras
def test_arrays_on_clusters_are_refused_with_a_way_out():
    frames = pytest.importorskip("dask.dataframe")
    rows, pay = people(50)
    on_workers = frames.from_pandas(table(rows, "pandas").assign(pay=pay), npartitions=2)[["age", "pay"]].values
    for unmapped in ({"feature_map": SMALL}, {"unit": "age", "max_rows_per_unit": 1}):
        with pytest.raises(DataTypeError, match="to_dask_dataframe"):
            PrivateLinearRegression(1.0, 1e-6, **unmapped).fit(on_workers, "pay")


def test_ranges_are_declared_once():
    rows, pay = people(50)
    with_map = {"epsilon": 1.0, "delta": 1e-6, "feature_map": SMALL}
    for wrong in (
        {**with_map, "bounds": Bounds(features=[(0, 1)], target=(0, 1))},
        {**with_map, "bounds": Bounds(x_norm=1.0, target=(0, 1))},
        {**with_map, "bounds": 3},
        {**with_map, "feature_map": FeatureMap(MAP.columns)},
    ):
        with pytest.raises(BoundsError):
            PrivateLinearRegression(**wrong).fit(table(rows, "numpy"), pay)
    with pytest.raises(ParameterError, match="feature_map"):
        PrivateLinearRegression(1.0, 1e-6, feature_map={"age": (0, 1)}).fit(table(rows, "numpy"), pay)
    tight = Bounds(x_norm=1.0, y_abs=50.0)
    model = PrivateLinearRegression(1.0, 1e-6, tight, feature_map=FeatureMap(MAP.columns)).fit(
        table(rows, "numpy"), pay
    )
    assert ("target", "[-50, 50]") in model.privacy_report_.bounds
    assert any(text.startswith("1 after") for _, text in model.privacy_report_.bounds)


def test_the_report_says_what_was_declared_of_each_column():
    rows, pay = people(200)
    report = PrivateLinearRegression(1.0, 1e-6, feature_map=SMALL).fit(table(rows, "numpy"), pay).privacy_report_
    declared = dict(report.bounds)
    assert declared["age"] == "[18, 90]; empty cells count as 45"
    assert (
        declared["region"]
        == "one of 'north', 'south', 'west'; undeclared categories count as 'north'; empty cells count as 'west'"
    )
    assert declared["member"] == "one of 'true', 'false'; undeclared categories count as 'other'"


LONG = [2**60, 2**60 + 1, 2**53 + 1, -(2**60) - 1, 5]


@pytest.mark.parametrize("kind", ["list", "numpy", "text", "decimal", "pandas", "pandas Int64", "polars", "pyarrow"])
@pytest.mark.parametrize("declare", [int, str])
def test_long_whole_numbers_are_told_apart(kind, declare):
    made = FeatureMap({"c": CategoricalColumn([declare(number) for number in LONG], drop_first=False)})
    table = {
        "list": lambda: [[number] for number in LONG],
        "numpy": lambda: np.array(LONG)[:, None],
        "text": lambda: [[f" {number}"] for number in LONG],
        "decimal": lambda: [[Decimal(number)] for number in LONG],
        "pandas": lambda: pytest.importorskip("pandas").DataFrame({"c": LONG}),
        "pandas Int64": lambda: pytest.importorskip("pandas").DataFrame({"c": LONG}, dtype="Int64"),
        "polars": lambda: pytest.importorskip("polars").DataFrame({"c": LONG}),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table({"c": LONG}),
    }[kind]()
    np.testing.assert_array_equal(made.transform(table), np.eye(len(LONG)))
    assert FeatureMap.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("cell", [2.0**60, 5.0, np.inf, np.nan])
def test_columns_of_floats_are_refused_where_categories_are_long_whatever_they_hold(cell):
    """One missing cell makes floats of a pandas column, and neighbours the same."""
    made = FeatureMap({"c": CategoricalColumn(LONG)})
    pandas = pytest.importorskip("pandas")
    for table in (np.array([[cell]]), np.array([[np.float32(cell)]]), pandas.DataFrame({"c": [cell]})):
        with pytest.raises(DataTypeError, match=r"beyond 2\^53"):
            made.transform(table)


def test_a_float_among_other_cells_that_could_be_several_long_categories_is_none():
    made = FeatureMap({"c": CategoricalColumn(LONG)})
    cells = np.array([[2.0**60], [5.0], ["7.5"], [np.inf], [2**60 + 1]], dtype=object)
    assert made.transform(cells).tolist() == [[0] * 4, [0, 0, 0, 1], [0] * 4, [0] * 4, [1, 0, 0, 0]]
    assert FeatureMap({"c": CategoricalColumn([1, 2])}).transform([[2.0**60], [2.0]]).tolist() == [[0], [1]]


@pytest.mark.parametrize("cell", [Decimal("1e999999999"), Decimal("1e-999999999"), Decimal("Infinity"), "1e999999999"])
def test_a_number_of_any_size_is_no_category_and_takes_no_time(cell):
    assert FeatureMap({"c": CategoricalColumn([1, 2])}).transform([[cell]]).tolist() == [[0]]


@pytest.mark.parametrize("kind", ["list", "pandas", "object", "category", "polars", "pyarrow"])
def test_white_space_and_letter_case_of_a_cell_do_not_matter(kind):
    cells = [" south", "SOUTH\t", "South", "soth", " ", "north", None]
    column = CategoricalColumn(["north", "south"], missing="south")
    expected = [1, 1, 1, 0, 1, 0, 1]
    assert FeatureMap({"r": column}).transform(_as(kind, cells)).ravel().tolist() == expected
    exact = CategoricalColumn(["north", "south"], missing="south", case="exact")
    assert FeatureMap({"r": exact}).transform(_as(kind, cells)).ravel().tolist() == [1, 0, 0, 0, 1, 0, 1]


def _as(kind, cells):
    if kind == "list":
        return [[cell] for cell in cells]
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame({"r": cells})
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").table({"r": cells})
    frame = pytest.importorskip("pandas").DataFrame({"r": cells})
    return frame if kind == "pandas" else frame.astype(kind)


def test_categories_that_differ_in_letter_case_alone_are_asked_about():
    with pytest.raises(BoundsError, match=r"'South' and 'south'.*case='exact'"):
        CategoricalColumn(["north", "South", "south"])
    made = FeatureMap({"r": CategoricalColumn(["north", "South", "south"], case="exact")})
    assert made.transform([["South"], ["south"], ["SOUTH"]]).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert made.describe()[0][1].endswith("letter case matters")
    with pytest.raises(BoundsError, match="more than once"):
        CategoricalColumn(["north", " north"])


def test_the_reference_is_the_category_without_a_column():
    made = FeatureMap({"r": CategoricalColumn(["a", "b", "c"], reference="c")})
    assert made.names == ("r[a]", "r[b]")
    assert FeatureMap.from_dict(made.to_dict()) == made
    with pytest.raises(BoundsError, match="reference='d' must be one of"):
        CategoricalColumn(["a", "b"], reference="d")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_public_table_gives_ranges_and_categories(kind):
    pandas = pytest.importorskip("pandas")
    public = pandas.DataFrame({"age": [20, 70], "region": ["south", "North"], "pay": [0.0, 10.0], "one": ["x", "x"]})
    table = {
        "pandas": lambda: public,
        "polars": lambda: pytest.importorskip("polars").from_pandas(public),
        "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(public),
    }[kind]()
    with pytest.raises(BoundsError, match="'one' has 1 different values"):
        FeatureMap.from_reference(table, target="pay")
    made = FeatureMap.from_reference(without_column(table, "one"), target="pay", margin=0.1)
    assert made.columns == {"age": NumericColumn(15, 75), "region": CategoricalColumn(["North", "south"])}
    assert (made.target, made.target_name, made.origin) == ((-1.0, 11.0), "pay", "reference")
    assert FeatureMap.from_dict(made.to_dict()) == made
    assert made.plus(("age", "age")).bounds().origin == "reference"
    with pytest.raises(BoundsError, match="target='wage' is not a column of the reference"):
        FeatureMap.from_reference(table, target="wage")


def test_a_number_beyond_doubles_is_a_bad_row_and_nothing_tells_of_it():
    rows = np.full((4, 2), 0.5, dtype=np.longdouble)
    rows[1, 0] = np.longdouble("1e400")
    made = FeatureMap({"a": NumericColumn(0, 1), "b": NumericColumn(0, 1)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(made.transform(rows)[:, 0]).tolist() == [False, True, False, False]


@pytest.mark.extras
@pytest.mark.parametrize(("kind", "count"), [("int8", 127), ("int8", 128), ("uint8", 256), ("int16", 128)])
def test_how_many_texts_a_dictionary_of_arrow_has_changes_nothing(kind, count):
    """Empty cells take a place of their own, which need not fit into the type of the others."""
    pyarrow = pytest.importorskip("pyarrow")
    texts = ["north", *(f"somewhere {place}" for place in range(count - 1))]
    cells = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, count - 1, None], kind), texts)
    feature_map = FeatureMap({"town": CategoricalColumn(["south", "north"])})
    np.testing.assert_array_equal(feature_map.transform(pyarrow.table({"town": cells})), [[1.0], [0.0], [np.nan]])
