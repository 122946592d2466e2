"""Formulas mean what formulaic says they mean, with public ranges and levels."""

import math
import random
import time

import numpy as np
import pytest

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, PaidBounds, PrivateLinearRegression, ols, read
from dpols.errors import BoundsError, DataTypeError, DpolsError, ParameterError
from dpols.formula import translated

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

BOUNDS = Bounds(features={"a": (0, 10), "h": (-1, 2)}, target=(0, 100))
DECLARED = FeatureMap(
    {
        "a": NumericColumn(0, 10),
        "h": NumericColumn(-1, 2),
        "r": CategoricalColumn(["x", "y", "z"]),
        "q": CategoricalColumn(["u", "v"]),
    },
    target=(0, 100),
)
FORMULAS = [
    "y ~ a + h",
    "y ~ a * h",
    "y ~ a + I(a**2) + I(a**3)",
    "y ~ I((a - 5)**2 * h)",
    "y ~ {a * h**2}",
    "y ~ poly(a, 3, raw=True) + h",
    "y ~ a + C(r, levels=['x', 'y', 'z'])",
    "y ~ C(r, levels=['z', 'x', 'y']) * a",
    "y ~ 0 + C(r, levels=['x', 'y', 'z']) + C(q, levels=['u', 'v'])",
    "y ~ C(r, levels=['x', 'y', 'z']):C(q, levels=['u', 'v'])",
    "y ~ a:C(r, levels=['x', 'y', 'z'])",
    "y ~ a + a:C(r, levels=['x', 'y', 'z'])",
    "y ~ C(r, levels=['x', 'y', 'z'])*C(q, levels=['u', 'v'])*h - 1",
    "y ~ a/h",
    "y ~ (a + h)**2",
    "y ~ (a + h + C(r, levels=['x', 'y', 'z']))^2",
    "y ~ (a + C(q, levels=['u', 'v']))/h - a",
    "y ~ -1 + C(q, levels=['u', 'v'])",
]


def rows(n_rows=60):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "a": rng.uniform(0, 10, n_rows),
            "h": rng.uniform(-1, 2, n_rows),
            "r": rng.choice(["x", "y", "z"], n_rows),
            "q": rng.choice(["u", "v"], n_rows),
        }
    )
    return frame.assign(y=np.clip(5 * frame["a"] + 3 * frame["h"] + 20 * (frame["r"] == "y"), 0, 100))


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_gives_the_columns_of_formulaic(formula):
    """The columns may stand in another order within a term, so they are compared as a set of columns."""
    model_matrix = pytest.importorskip("formulaic").model_matrix
    frame = rows()
    made = translated(formula, BOUNDS)
    oracle = model_matrix(formula, frame).rhs
    assert made.target == "y"
    assert made.fit_intercept == ("Intercept" in oracle.columns)
    mine = made.feature_map.transform(frame)
    theirs = oracle.drop(columns="Intercept", errors="ignore").to_numpy(dtype=float)
    assert mine.shape == theirs.shape
    np.testing.assert_allclose(mine[:, np.lexsort(mine)], theirs[:, np.lexsort(theirs)], rtol=1e-12)


ATOMS = ("a", "h", "C(r, levels=['x','y','z'])", "C(q, levels=['u','v'])", "I(a**2)", "I((h-1)**2)", "I(a*h)")


def some_formula(choose, depth=3):
    """A formula at random, of the forms that are understood."""
    if depth == 0 or choose.random() < 0.4:
        return choose.choice(ATOMS)
    operator = choose.choice([" + ", " + ", ":", "*", "/", " - "])
    made = f"{some_formula(choose, depth - 1)}{operator}{some_formula(choose, depth - 1)}"
    return f"({made})" if choose.random() < 0.6 else made


@pytest.mark.filterwarnings("ignore")
def test_formulas_at_random_are_those_of_formulaic_or_refused():
    model_matrix = pytest.importorskip("formulaic").model_matrix
    choose, frame, compared = random.Random(0), rows(), 0
    for _ in range(300):
        formula = f"y ~ {some_formula(choose)}{choose.choice(['', ' + 0', ' - 1', ' + 1'])}"
        try:
            made = translated(formula, BOUNDS)
        except DpolsError:
            continue
        oracle = model_matrix(formula, frame).rhs
        assert made.fit_intercept == ("Intercept" in oracle.columns), formula
        mine = made.feature_map.transform(frame).round(9)
        theirs = oracle.drop(columns="Intercept", errors="ignore").to_numpy(dtype=float).round(9)
        assert mine.shape == theirs.shape, formula
        np.testing.assert_allclose(mine[:, np.lexsort(mine)], theirs[:, np.lexsort(theirs)], err_msg=formula)
        compared += 1
    assert compared > 200


def test_powers_are_written_inside_of_i_with_either_sign():
    assert translated("y ~ I(a^2)", BOUNDS) == translated("y ~ I(a**2)", BOUNDS)
    assert translated("y ~ (a + h)^2", BOUNDS).feature_map.names == ("a", "h", "a:h")


def test_names_that_are_no_words_stand_in_backticks():
    bounds = Bounds(features={"body mass": (0, 1), "log.pay": (0, 1), "+1": (0, 1)}, target=(0, 1))
    formula = "`the target` ~ `body mass` + I(`body mass`**2) + log.pay + `+1` + C(`a b`, levels=['it\\'s', \"x\"])"
    made = translated(formula, bounds)
    assert made.target == "the target"
    assert made.feature_map.names == ("body mass", "body mass^2", "log.pay", "+1", "a b[x]")


def test_ranges_of_products_are_derived():
    bounds = translated("y ~ I(a**2) + a:h + I((a - 5)**2)", BOUNDS).feature_map.bounds()
    assert bounds.features == {"a^2": (0.0, 100.0), "a:h": (-10.0, 20.0), "(a - 5)^2": (0.0, 25.0)}
    assert bounds.target == (0.0, 100.0)


def test_declared_categories_need_no_levels():
    long = "y ~ a + C(r, levels=['x', 'y', 'z']) + C(q, levels=['u', 'v']):a"
    for short in ("y ~ a + C(r) + C(q):a", "y ~ a + r + q:a"):
        assert translated(short, DECLARED).feature_map == translated(long, BOUNDS).feature_map


REFUSED = {
    "y ~ C(r)": "public levels",
    "y ~ a + other": "'other' of the formula has no public range",
    "y ~ C(r, levels=['x', 'y']) + C(r, levels=['x', 'z'])": "another of its C",
    "y ~ C(r, levels=[])": "levels must be a list",
    "y ~ C(r, levels=a)": "levels must be a list",
    "y ~ C(r, contr.sum, levels=['x', 'y'])": "public levels",
    "y ~ poly(a, 2)": "computed from the data",
    "y ~ poly(a, 9, raw=True)": "up to 5",
    "y ~ scale(a)": r"scale\(COLUMN, center=40, scale=10\) with numbers of public knowledge",
    "y ~ scale(a, center=3)": r"scale\(COLUMN, center=40, scale=10\) with numbers of public knowledge",
    "y ~ scale(a, center=3, centre=4, scale=2)": r"scale\(COLUMN, center=40, scale=10\)",
    "y ~ center(a)": r"write I\(COLUMN - 40\)",
    "y ~ rank(a)": "computed from the data",
    "y ~ b + offset(log(a))": r"no offsets\. A count has exposure=",
    "y ~ log(a)": r"log\(a\) needs values above 0, but the range of a is \[0, 10\].*log1p",
    "y ~ log(a - 20)": r"log\(a - 20\) needs values above 0",
    "y ~ I(1/a)": r"a\^-1 needs values above 0",
    "y ~ I((a - 5)**0.5)": r"needs values of at least 0",
    "y ~ bs(a)": "knots of public knowledge",
    "y ~ bs(a, df=4)": "knots of public knowledge",
    "y ~ bs(a, knots=[5], degree=1e999)": "knots of public knowledge",
    "y ~ ns(a, knots=[3])": r"write bs\(COLUMN",
    "y ~ bs(a, knots=[30])": r"must lie inside of its range \[0, 10\]",
    "y ~ bs(a, knots=[5, 3])": "must rise",
    "y ~ exp(I(a*100))": "exceeds that of doubles",
    "y ~ C(r, levels=['x', 'y'], ref='z')": "reference='z' must be one of",
    "y ~ C(r, levels=['x', 'y'], ref=a)": "ref must be one of the levels",
    "y ~ C(r, levels=['x', 'y'], ref='x'):a + C(r, ref='y')": "give one ref",
    "y ~ C(r, Treatment('x'))": r"C\(COLUMN, levels=\[\.\.\.\], ref=\.\.\.\)",
    "y ~ I(a + h)": "range does not follow",
    "y ~ I(a if a > 0 else h)": "cannot be read",
    "y ~ 1": "no features",
    "log(y) ~ a": r"log\(y\) needs values above 0",
    "I(y*a) ~ h": "function of one such as",
    "y + a ~ h": "name of one column",
    "a ~ a + h": "both sides",
    "y ~ a | h": "one part",
    "~ a": "one target",
    "y ~ (a": "cannot be read",
    "y ~ a +": "cannot be read",
    "y": "must be a text",
    "y ~ a^2": r"'a' by itself.*I\(a\*\*2\)",
    "y ~ a**2": "'a' by itself",
    "y ~ (h)^3 + a": "'h' by itself",
    "y ~ a:a": "'a' by itself",
    "y ~ a:h:a": "'a' by itself",
    "y ~ (a + h)**0": "whole number from 1 to 16",
    "y ~ (a + h)**h": "whole number from 1 to 16",
    "y ~ a + (h - 1)": "outside of parentheses",
    "y ~ (a - a):h": "take away every term",
    "y ~ 2*a": "number 2",
    "y ~ 'a'": "text or a list",
    "y ~ poly(a, 2, raw=True, z=1)": "up to 5",
    "y ~ poly(a, 2, raw=True, raw=True)": "up to 5",
    "y ~ a + (h": "ends too early",
    "y ~ I(a*C(r, levels=['x', 'y']))": "range does not follow",
    "y ~ C(r, levels=['x', 'y']) + I(r*a)": "'r' holds categories",
    "y ~ C(r, levels=['x', 'y']) + poly(r, 2, raw=True)": "'r' holds categories",
    "y ~ " + "(" * 5000 + "a" + ")" * 5000: "nested too deeply",
    "y ~ " + "a:h:" * 2500 + "a": "nested too deeply",
    "y ~ I(a" + " - 1" * 5 + " * 2" * 5000 + ")": "nested too deeply",
    "y ~ " + ":".join(f"C(r{i}, levels=['x', 'y'])" for i in range(9)): "more than 8 columns of categories",
    "y ~ (" + "+".join(f"a{i}" for i in range(400)) + ")**2": "more than 100000 products",
    "y ~ " + ":".join(f"poly(c{i}, 5, raw=True)" for i in range(20)): "more than 100000 products",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_has_no_public_range_is_refused(formula):
    with pytest.raises((BoundsError, ParameterError), match=REFUSED[formula]):
        translated(formula, BOUNDS)


SUM = "(" + " + ".join(f"x{i}" for i in range(300)) + ")"
TOO_MANY = {
    "a product after a power": f"y ~ {SUM}**2" + "".join(f"*v{i}" for i in range(9)),
    "powers of powers": "y ~ " + "(" * 30 + "a + h" + ")**16" * 30,
    "terms that are taken away": f"y ~ a - {SUM}:{SUM}*{SUM}",
    "a chain of products": "y ~ " + "*".join(f"x{i}" for i in range(300)),
}


@pytest.mark.parametrize("case", TOO_MANY)
def test_too_many_terms_are_refused_before_they_are_made(case):
    start = time.process_time()
    with pytest.raises(ParameterError, match="more than 100000 products"):
        translated(TOO_MANY[case], BOUNDS)
    assert time.process_time() - start < 4.0  # far less than to make them


def test_products_of_many_categories_are_coded_in_no_time():
    cells = ":".join(f"C(r{i}, levels=['x', 'y'])" for i in range(8))
    start = time.process_time()
    made = translated(f"y ~ {cells} + a:{cells} + h + h:{cells}", BOUNDS)
    assert time.process_time() - start < 20.0  # minutes, if each product were compared with all others
    assert len(made.feature_map.names) == 255 + 256 + 256


def test_what_is_misspelt_or_left_out_is_named_with_its_remedy():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"age": [20.0, 30.0], "pay": [1.0, 2.0]})
    ages = Bounds(features={"age": (18, 90)}, target=(0, 10))
    asked = {"epsilon": 1.0, "delta": 1e-6, "bounds": ages}
    for formula, name, near in (("pay ~ agee", "agee", "age"), ("payy ~ age", "payy", "pay")):
        with pytest.raises(ParameterError, match=rf"no column '{name}'.*did you mean '{near}'.*'age', 'pay'"):
            ols(formula, rows, **asked)
    with pytest.raises(BoundsError, match=r"'agee' of the formula has no public range .did you mean 'age'"):
        translated("pay ~ agee", ages)
    with pytest.raises(BoundsError, match=r"'pay' has no public range; give the bounds target=\(low, high\)"):
        ols("pay ~ age", rows, **asked | {"bounds": Bounds(features={"age": (18, 90)})})
    for left_out, words in (
        ("delta", "delta is required.*such as 1e-6"),
        ("epsilon", "epsilon is required.*such as 1"),
    ):
        with pytest.raises(ParameterError, match=words):
            ols("pay ~ age", rows, **{name: value for name, value in asked.items() if name != left_out})
    with pytest.raises(BoundsError, match="a formula needs bounds by column name"):
        ols("pay ~ age", rows, epsilon=1.0, delta=1e-6)


def test_words_of_other_libraries_are_named_with_those_of_this_one():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "y": [1.0, 2.0]})
    asked = {"epsilon": 1.0, "delta": 1e-6, "bounds": BOUNDS}
    for name, remedy in (("cov_type", "options="), ("weights", "sample_weight="), ("colour", "its parameters are")):
        with pytest.raises(ParameterError, match=f"{name} is no parameter.*{remedy}"):
            ols("y ~ a", frame, **asked, **{name: "HC1"})
    with pytest.raises(ParameterError, match=r"it has no option 'cov'; its options are .*'n_iterations'"):
        ols("y ~ a", frame, **asked, options={"cov": "HC1"})
    with pytest.raises(DataTypeError, match="X is a dict; pass a table"):
        ols("y ~ a", {"a": [1.0, 2.0], "y": [1.0, 2.0]}, **asked)
    declared = Bounds(features={"a": (1, 10)}, target=(1, 100))
    assert translated("np.log(y) ~ numpy.sqrt(a)", declared).feature_map.names == ("sqrt(a)",)


def test_bounds_must_have_names():
    for bounds in (Bounds(features=[(0, 1)], target=(0, 1)), Bounds(x_norm=1.0, y_abs=1.0), None, {"a": (0, 1)}):
        with pytest.raises(BoundsError, match="by column name"):
            translated("y ~ a", bounds)


@pytest.mark.parametrize("limits", [None, {"a": None, "h": (-100, 100)}], ids=["nothing known", "some limits"])
def test_ranges_of_a_formula_are_found_privately_where_they_are_not_known(limits):
    formula = "y ~ a + h + I(a**2) + C(r, levels=['x', 'y', 'z'])"
    asked = {"epsilon": 20, "delta": 1e-6, "random_state": 0}
    paid = ols(formula, rows(5000), bounds=PaidBounds(features=limits), **asked)
    known = ols(formula, rows(5000), bounds=BOUNDS, **asked)
    shown = paid.privacy_report_
    assert shown.bounds_origin == "paid"
    assert "counts of values by magnitude" in {line.what for line in shown.lines}
    assert not any("the bounds and" in line for line in shown.assumed_public)
    frame = rows(5000).drop(columns="y")
    assert np.corrcoef(paid.predict(frame), known.predict(frame))[0, 1] > 0.99


def test_a_formula_has_use_only_for_paid_bounds_by_name():
    with pytest.raises(BoundsError, match="by column name"):
        ols("y ~ a", rows(100), epsilon=1, delta=1e-6, bounds=PaidBounds(features=[(0, 10)]))
    with pytest.raises(BoundsError, match="declare a low above 0"):
        ols("y ~ log(a)", rows(100), epsilon=1, delta=1e-6, bounds=PaidBounds())


def test_one_call_fits_and_the_model_predicts_raw_rows(tmp_path):
    frame = rows(5000)
    formula = "y ~ a + h + C(r, levels=['x', 'y', 'z'])"
    model = ols(formula, frame, epsilon=20, delta=1e-6, bounds=BOUNDS)
    assert isinstance(model, PrivateLinearRegression)
    assert dict(zip(model.feature_map_.names, model.coef_, strict=True))["r[y]"] == pytest.approx(20, abs=6)
    model.save(tmp_path / "model.json")
    loaded = PrivateLinearRegression.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(frame.drop(columns="y")), model.predict(frame))


def test_tables_paths_and_sources_give_the_same_fit(tmp_path):
    frame = rows(2000)
    frame.to_parquet(tmp_path / "rows.parquet")
    common = {"epsilon": 1, "delta": 1e-6, "bounds": BOUNDS, "random_state": 0}
    formula = "y ~ a*h + C(r, levels=['x', 'y', 'z'])"
    sources = (frame, tmp_path / "rows.parquet", str(tmp_path / "rows.parquet"), read(tmp_path / "rows.parquet", "y"))
    models = [ols(formula, data, **common) for data in sources]
    for model in models:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
    with pytest.raises(ParameterError, match="opened for 'h'"):
        ols(formula, read(tmp_path / "rows.parquet", "h"), **common)
    for clash in ({"fit_intercept": False}, {"feature_map": DECLARED}):
        with pytest.raises(ParameterError, match="follows from the formula"):
            ols(formula, frame, **common, **clash)


def test_a_norm_is_passed_on():
    tight = Bounds(features={"a": (0, 10), "h": (-1, 2)}, y_abs=100, x_norm=0.75)
    report = ols("y ~ a + h", rows(), epsilon=1, delta=1e-6, bounds=tight).privacy_report_
    assert ("target", "[-100, 100]") in report.bounds
    assert any(text.startswith("0.75 after") for _, text in report.bounds)


@pytest.mark.parametrize("ranges", [Bounds, FeatureMap])
def test_a_public_table_that_ranges_are_from_stays_in_the_report(ranges):
    public = pandas.DataFrame({"x": [0.0, 1.0], "y": [0.0, 2.0]})
    bounds = ranges.from_reference(public, target="y")
    model = ols("y ~ I(x**2)", pandas.concat([public] * 25), epsilon=1, delta=1e-6, bounds=bounds)
    assert model.privacy_report_.bounds_origin == "reference"


def test_a_target_has_the_range_under_its_own_name():
    assert translated("a ~ h", BOUNDS).feature_map.target == (0.0, 10.0)
    assert translated("a ~ h", DECLARED).feature_map.target == (0.0, 10.0)
    assert translated("y ~ h", DECLARED).feature_map.target == (0.0, 100.0)
    named = FeatureMap(DECLARED.columns, target=(0, 100), target_name="y")
    assert translated("y ~ h", named).feature_map.target == (0.0, 100.0)
    assert translated("a ~ h", named).feature_map.target == (0.0, 10.0)
    model = ols("h ~ a", rows(2000), bounds=BOUNDS, epsilon=1, delta=1e-6, random_state=0)
    assert dict(model.privacy_report_.bounds)["target"] == "[-1, 2]"


@pytest.mark.parametrize(
    ("formula", "declared"),
    [
        ("z ~ a", FeatureMap(DECLARED.columns, target=(0, 100), target_name="y")),
        ("z ~ a", Bounds(features={"a": (0, 10)})),
        ("r ~ a", DECLARED),
    ],
)
def test_a_target_without_a_range_of_its_own_is_refused(formula, declared):
    with pytest.raises(BoundsError, match=r"the formula's target '[zr]'"):
        translated(formula, declared)


def test_levels_that_differ_are_named_with_their_places():
    with pytest.raises(
        BoundsError, match=r"\['x', 'mars'\] in C\(r.*of the formula, but \['x', 'y', 'z'\] in the bounds"
    ):
        translated("y ~ C(r, levels=['x', 'mars'])", DECLARED)
    twice = "y ~ C(r, levels=['x', 'y']) + C(r, levels=['x', 'mars'])"
    with pytest.raises(BoundsError, match=r"'mars'\] in C\(r.*but \['x', 'y'\] in another"):
        translated(twice, BOUNDS)


def test_a_dot_is_refused_in_words():
    with pytest.raises(ParameterError, match="all other columns, and these must be named") as caught:
        translated("y ~ .", BOUNDS)
    assert "__" not in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ log1p(a)", ["log1p(a)"]),
        ("y ~ log(a + 1) + a", ["log(a + 1)", "a"]),
        ("y ~ log(1 + a)", ["log(a + 1)"]),
        ("y ~ sqrt(a):h", ["sqrt(a):h"]),
        ("y ~ log1p(a)*h", ["log1p(a)", "h", "log1p(a):h"]),
        ("y ~ I(a**0.5) + I(log1p(a)**2)", ["a^0.5", "log1p(a)^2"]),
        ("y ~ I(a/10) + I(10 - a)", ["a/10", "(-a + 10)"]),
        ("y ~ I(h/(a + 1))", ["h:(a + 1)^-1"]),
        ("y ~ I((log1p(a) - 1)**2)", ["(log1p(a) - 1)^2"]),
        ("y ~ exp(I(-a))", ["exp(-a)"]),
        ("y ~ scale(a, center=4, scale=2)", ["(a - 4)/2"]),
        ("y ~ bs(a, knots=[3, 6], degree=1)", ["bs(a)[1]", "bs(a)[2]", "bs(a)[3]"]),
        ("y ~ bs(log1p(a), knots=[1])", [f"bs(log1p(a))[{i}]" for i in (1, 2, 3, 4)]),
        ("y ~ C(r, levels=['x', 'y', 'z'], ref='y')", ["r[x]", "r[z]"]),
        ("y ~ C(r, levels=['x', 'y', 'z'], ref='y') + C(r):a", ["r[x]", "r[z]", "r[y]:a", "r[x]:a", "r[z]:a"]),
    ],
)
def test_functions_of_columns_and_references(formula, names):
    assert list(translated(formula, BOUNDS).feature_map.names) == names


def test_a_reference_may_be_named_in_the_formula_alone():
    declared = FeatureMap({"r": CategoricalColumn(["x", "y", "z"], missing="z")}, target=(0, 1))
    made = translated("y ~ C(r, ref='z')", declared).feature_map
    assert made.names == ("r[x]", "r[y]")
    assert made.transform([["z"], [None], ["x"]]).tolist() == [[0, 0], [0, 0], [1, 0]]


def test_the_function_of_a_target_is_fitted_in_its_place():
    made = translated("log1p(y) ~ a", BOUNDS)
    assert (made.target, made.feature_map.fitted_name) == ("y", "log1p(y)")
    assert made.feature_map.bounds().target == pytest.approx((0.0, math.log1p(100)))
