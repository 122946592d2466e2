"""Functions of columns: no value lies beyond the range that follows, as computed and in exact arithmetic."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpols import CategoricalColumn, Factor, FeatureMap, NumericColumn
from dpols.errors import BoundsError
from dpols.feature_map.transforms import (
    FUNCTION_NAMES,
    Arithmetic,
    Function,
    Power,
    Spline,
    Standardize,
    as_transform,
    interval_of,
    inverse_of_transform,
    label_of,
    transform_from_list,
    values_of_transform,
)

EXACT = {
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": lambda x: mpmath.log10(x),
    "log1p": mpmath.log1p,
    "sqrt": mpmath.sqrt,
    "exp": mpmath.exp,
}

numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: x or 0.5)
steps = st.one_of(
    st.sampled_from(sorted(EXACT)).map(Function),
    st.builds(Arithmetic, st.sampled_from("+-*/"), numbers),
    st.builds(Power, st.sampled_from([-2.0, -1.0, -0.5, 1 / 3, 0.5, 2.0, 3.0, 4.0, 5.0])),
)
ranges = st.tuples(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4)).map(sorted).filter(lambda ends: ends[1] - ends[0] > 1e-6)
positive = st.tuples(*[st.floats(1e-6, 1e6)] * 2).map(sorted).filter(lambda ends: ends[1] > ends[0] * 1.01)


def test_every_function_is_compared_with_its_definition():
    assert set(EXACT) == set(FUNCTION_NAMES)


def exactly(step, x):
    """The step in 400 bits, from its definition."""
    if isinstance(step, Function):
        return EXACT[step.name](x)
    if isinstance(step, Power):
        return mpmath.power(x, int(step.exponent) if step.exponent == int(step.exponent) else mpmath.mpf(step.exponent))
    number = mpmath.mpf(step.number)
    return {"+": x + number, "-": x - number, "*": x * number, "/": x / number}[step.sign]


@given(
    ends=st.one_of(ranges, positive),
    chain=st.lists(steps, min_size=1, max_size=3),
    shares=st.lists(st.floats(0.0, 1.0), max_size=8),
)
def test_no_value_lies_beyond_the_range_that_follows(ends, chain, shares):
    transform = as_transform(chain)
    try:
        low, high = interval_of(transform, tuple(ends), "x")
    except BoundsError:
        assume(False)
    inside = [ends[0] + share * (ends[1] - ends[0]) for share in (0.0, *shares, 1.0)]
    near = [math.nextafter(ends[0], ends[1]), math.nextafter(ends[1], ends[0])]
    values = np.clip(np.array([*inside, *near, 0.0]), *ends)
    found = values_of_transform(transform, values)
    assert (low <= found).all()
    assert (found <= high).all()
    with mpmath.workprec(400):
        for value in values:
            x = mpmath.mpf(float(value))
            for step in transform:
                x = exactly(step, x)
            assert mpmath.mpf(low) <= x <= mpmath.mpf(high)


@given(
    ends=ranges,
    origin=st.floats(-1e3, 1e3),
    power=st.integers(1, 6),
    other=ranges,
    shares=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6),
)
def test_no_product_of_powers_lies_beyond_its_range_in_exact_arithmetic(ends, origin, power, other, shares):
    columns = {"a": NumericColumn(*ends), "b": NumericColumn(*other)}
    made = FeatureMap(columns, [(Factor("a", power, origin), "b")])
    ((low, high),) = made.bounds().features.values()
    cells = [(ends[0] + s * (ends[1] - ends[0]), other[0] + t * (other[1] - other[0])) for s, t in shares]
    cells += [(a, b) for a in ends for b in other]
    cells = [tuple(np.clip(pair, (ends[0], other[0]), (ends[1], other[1]))) for pair in cells]
    assert all(low <= value <= high for value in made.transform(np.array(cells))[:, 0])
    for a, b in cells:
        exact = (Fraction(float(a)) - Fraction(origin)) ** power * Fraction(float(b))
        assert Fraction(low) <= exact <= Fraction(high)


@given(
    ends=ranges,
    places=st.lists(st.floats(0.01, 0.99), max_size=4, unique=True),
    degree=st.integers(1, 4),
    weight=st.one_of(st.none(), ranges),
    shares=st.lists(st.floats(-0.1, 1.1), min_size=1, max_size=10),
)
def test_rows_of_a_spline_are_as_short_as_those_of_categories(ends, places, degree, weight, shares):
    knots = sorted(ends[0] + place * (ends[1] - ends[0]) for place in places)
    assume(all(b - a > 1e-9 for a, b in zip([ends[0], *knots], [*knots, ends[1]], strict=True)))
    columns = {"x": NumericColumn(*ends, transform=Spline(knots, degree))}
    term = ["x"]
    if weight is not None:
        columns["w"] = NumericColumn(*weight)
        term.append("w")
    made = FeatureMap(columns, [term])
    bounds = made.bounds()
    cells = [[ends[0] + share * (ends[1] - ends[0]), *(weight or [])[: len(term) - 1]] for share in shares]
    features = made.transform(np.array(cells))
    low, high = np.array(list(bounds.features.values())).T
    assert (low <= features).all()
    assert (features <= high).all()
    mapped = (features - (low + high) / 2) / ((high - low) / 2)
    limit = bounds.x_norm if bounds.x_norm is not None else math.sqrt(features.shape[1])
    assert (np.linalg.norm(mapped, axis=1) <= limit * (1 + 1e-9)).all()


def test_a_spline_is_that_of_scipy_without_its_first_column():
    from scipy.interpolate import BSpline

    x = np.linspace(0, 10, 50)
    made = FeatureMap({"x": NumericColumn(0, 10, transform=Spline([3, 6]))}).transform(x[:, None])
    full = BSpline.design_matrix(x, [0, 0, 0, 0, 3, 6, 10, 10, 10, 10], 3).toarray()
    assert np.allclose(made, full[:, 1:])
    assert made.shape == (50, 5)


@given(
    ends=positive,
    chain=st.lists(
        st.one_of(
            st.sampled_from(["log", "log2", "log10", "log1p", "sqrt"]).map(Function),
            st.builds(Standardize, st.floats(-10, 10), st.floats(0.5, 10)).map(lambda both: both.steps),
            st.builds(Power, st.sampled_from([-1.0, 0.5, 1 / 3, 2.0])),
        ),
        min_size=1,
        max_size=2,
    ),
    share=st.floats(0.0, 1.0),
)
def test_the_target_follows_from_its_transform(ends, chain, share):
    try:
        made = FeatureMap({"x": NumericColumn(0, 1)}, target=tuple(ends), target_transform=chain)
    except BoundsError:
        assume(False)
    target = np.clip(np.array([ends[0] + share * (ends[1] - ends[0])]), *ends)
    fitted = made.fitted_target(target)
    low, high = made.fitted_range
    assert low <= fitted[0] <= high
    assume(high - low > 1e-6 * max(abs(low), abs(high)))
    assert np.allclose(made.target_units(fitted), target, rtol=1e-4)


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ("log", "log(x)"),
        (["sqrt", "exp"], "exp(sqrt(x))"),
        (Power(0.5), "x^0.5"),
        (Standardize(40, 10), "(x - 40)/10"),
        ([Arithmetic("+", 1.0), "log"], "log(x + 1)"),
        ({"power": 2}, "x^2"),
        ({"centre": -4, "scale": 2}, "(x + 4)/2"),
        ({"knots": [1, 2], "degree": 1}, "bs(x)"),
    ],
)
def test_a_transform_is_written_as_people_write_it_and_read_back(given, label):
    transform = as_transform(given)
    assert label_of(transform, "x") == label
    assert transform_from_list([step.to_list() for step in transform]) == transform


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ln", "'ln' is not known; use one of log, log2"),
        (3, r"must be one of log.*dpols\.transforms"),
        ([Spline([5]), "log"], "spline must be the last"),
        ({"power": 0}, "from -16 to 16"),
        ({"power": True}, "from -16 to 16"),
        ({"centre": 1}, "centre and scale"),
        ({"centre": 1, "scale": 0}, r"not \* or / 0"),
        ({"centre": "a", "scale": 1}, "must be a finite number"),
        ({"knots": [1], "df": 4}, "must have power"),
        ({"knots": "12"}, "list of finite numbers"),
        ({"knots": [1, 1]}, "must rise"),
        ({"knots": [1], "degree": 0}, "from 1 to 5"),
    ],
)
def test_what_is_no_transform_is_refused(given, message):
    with pytest.raises(BoundsError, match=message):
        NumericColumn(0, 10, transform=given)


def test_a_term_is_of_the_transformed_column_unless_it_says_otherwise():
    columns = {"pay": NumericColumn(1, 100, missing=10, transform="log"), "age": NumericColumn(0, 10)}
    made = FeatureMap(columns, ["pay", Factor("pay", transform=[]), ("pay", "age"), Factor("pay", 2, 1.0)])
    assert made.names == ("log(pay)", "pay", "log(pay):age", "(log(pay) - 1)^2")
    row = made.transform([[None, 3.0]])[0]
    assert np.allclose(row, [math.log(10), 10, 3 * math.log(10), (math.log(10) - 1) ** 2])
    assert made.describe()[0] == ("pay", "[1, 100]; empty cells count as 10; used as log(pay)")
    assert FeatureMap.from_dict(made.to_dict()) == made


def test_numbers_beyond_the_range_are_clipped_before_the_transform():
    made = FeatureMap({"x": NumericColumn(1, 8, transform="log2")})
    assert made.transform([[-5], [0], [1], [8], [9]]).ravel().tolist() == [0.0, 0.0, 0.0, 3.0, 3.0]
    assert np.isnan(made.transform([[math.nan], [math.inf]])).all()


@pytest.mark.parametrize("transform", [Spline([5]), {"power": 2}])
def test_a_target_that_does_not_follow_from_its_transform_is_refused(transform):
    with pytest.raises(BoundsError, match="from which pay does not follow"):
        FeatureMap({"x": NumericColumn(0, 1)}, target=(-10, 10), target_name="pay", target_transform=transform)


def test_a_transform_of_categories_is_refused():
    columns = {"r": CategoricalColumn(["a", "b"])}
    with pytest.raises(BoundsError, match="no powers and no transforms"):
        FeatureMap(columns, [Factor("r", transform="log")])


def test_predictions_beyond_any_target_are_brought_to_the_ends_of_its_range():
    made = FeatureMap({"x": NumericColumn(0, 1)}, target=(0, 100), target_transform="sqrt")
    assert made.target_units(np.array([-3.0, 5.0, 1e9])).tolist() == [0.0, 25.0, 100.0]
    assert inverse_of_transform(made.target_transform, np.array([-3.0]))[0] == 0.0


def test_reports_name_the_knots_of_a_spline():
    made = FeatureMap({"x": NumericColumn(0, 10, transform=["sqrt", Spline([1, 2])])})
    assert made.describe() == (("x", "[0, 10]; used as bs(sqrt(x)) of degree 3 with knots 1, 2"),)
