"""Restrictions as text and as matrices: what they mean, and that nothing else is read."""

import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpols.errors import ParameterError
from dpols.inference.restrictions import Restrictions

NAMES = ("age", "age^2", "hours", "region[south west]", "age:region[south west]", "(age - 50)^2", "intercept")


def read(given):
    found = Restrictions.of(given, NAMES)
    return found.weights, found.values, found.texts


def form(**weights):
    places = {"age": 0, "age2": 1, "hours": 2, "south": 3, "product": 4, "centred": 5, "intercept": 6}
    row = np.zeros(len(NAMES))
    for name, weight in weights.items():
        row[places[name]] = weight
    return row


@pytest.mark.parametrize(
    ("text", "row", "value"),
    [
        ("age", form(age=1), 0.0),
        ("age = 0", form(age=1), 0.0),
        ("age = 2 * hours", form(age=1, hours=-2), 0.0),
        ("age = hours * 2", form(age=1, hours=-2), 0.0),
        ("2*age - hours/4 = 3", form(age=2, hours=-0.25), 3.0),
        ("-age + 1 = -(hours - 2)", form(age=-1, hours=1), 1.0),
        ("2 * (age + 3*(hours - 1)) = 4", form(age=2, hours=6), 10.0),
        ("age^2=1e-3", form(age2=1), 1e-3),
        ("region[south west] = age:region[south west]", form(south=1, product=-1), 0.0),
        ("`(age - 50)^2` + `age` = .5", form(centred=1, age=1), 0.5),
        ("1 = age", form(age=-1), -1.0),
        ("2 * 3 * age / 6 = 1 + 1", form(age=1), 2.0),
    ],
)
def test_a_text_means_what_it_says(text, row, value):
    weights, values, _ = read(text)
    np.testing.assert_allclose(weights, [row])
    np.testing.assert_allclose(values, [value])


def test_several_restrictions_and_chains():
    weights, values, texts = read("age = 2 * hours, `(age - 50)^2` =  1")
    np.testing.assert_allclose(weights, [form(age=1, hours=-2), form(centred=1)])
    np.testing.assert_allclose(values, [0.0, 1.0])
    assert texts == ("age = 2 * hours", "`(age - 50)^2` = 1")
    weights, values, texts = read("age = hours = 3")
    np.testing.assert_allclose(weights, [form(age=1, hours=-1), form(hours=1)])
    np.testing.assert_allclose(values, [0.0, 3.0])
    assert texts == ("age = hours", "hours = 3")
    np.testing.assert_allclose(read(["age", "hours = 1"])[0], [form(age=1), form(hours=1)])
    assert read(["age", "hours = 1"])[2] == ("age = 0", "hours = 1")


def test_a_column_of_categories_stands_for_all_its_levels():
    names = ("age", "region[south]", "region[west]", "age:region[south]", "my region[a]")
    found = Restrictions.of("region, age = 1", names)
    np.testing.assert_allclose(found.weights, np.eye(5)[[1, 2, 0]])
    assert found.texts == ("region[south] = 0", "region[west] = 0", "age = 1")
    np.testing.assert_allclose(Restrictions.of(["`my region`"], names).weights, np.eye(5)[[4]])
    for text in ("region = 1", "2 * region", "age = region", "regio"):
        with pytest.raises(ParameterError, match="no coefficient"):
            Restrictions.of(text, names)


def test_a_name_of_two_coefficients_is_refused_and_a_matrix_is_not():
    names = ("intercept", "age", "intercept")
    with pytest.raises(ParameterError, match="name of two coefficients"):
        Restrictions.of("intercept = 0", names)
    np.testing.assert_allclose(Restrictions.of("age", names).weights, [[0.0, 1.0, 0.0]])
    assert len(Restrictions.of(np.eye(3), names).weights) == 3


def test_matrices_vectors_and_values():
    row = form(age=1, hours=-2)
    np.testing.assert_allclose(read(row)[0], [row])
    np.testing.assert_allclose(read(np.eye(7))[0], np.eye(7))
    weights, values, texts = read(([row, form(south=3)], [1.5, -2.0]))
    np.testing.assert_allclose(weights, [row, form(south=3)])
    np.testing.assert_allclose(values, [1.5, -2.0])
    assert texts == ("age - 2 * hours = 1.5", "3 * region[south west] = -2")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "ends too early"),
        ("age =", "ends too early"),
        ("age = 1,", "ends too early"),
        ("age hours", "'hours' stands where it has no meaning"),
        ("age * hours", "not linear"),
        ("age / hours", "only a number other than 0"),
        ("age / 0", "only a number other than 0"),
        ("age ** 2", "has no meaning"),
        ("agee = 0", "did you mean 'age'"),
        ("wealth", "the coefficients are age"),
        ("__import__('os')", "no coefficient"),
        ("age; hours", "';' stands where no such sign"),
        ("age = 1e999", "beyond the range of doubles"),
        ("age = 1, age = 2", "only 1 differ"),
        ("age, hours, age + hours", "only 2 differ"),
        ("1 = 1", "only 0 differ"),
        ("(" * 9000, "nested too deeply"),
        ("age + " * 9000, "characters"),
        (np.zeros((1, 7)), "only 0 differ"),
        (np.eye(6), "shape"),
        (np.full((1, 7), np.nan), "finite"),
        (np.zeros((0, 7)), "shape"),
        (np.zeros((1, 1, 7)), "shape"),
        (None, "cannot be read|shape"),
        ([["a"]], "cannot be read"),
        ({"age": 0}, "cannot be read"),
    ],
)
def test_anything_else_is_refused(given, said):
    with pytest.raises(ParameterError, match=said):
        read(given)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "eval('1')", "open('made')", "`__import__('os')` = 0", "age.__class__", "(lambda: 0)()"],
)
def test_nothing_in_a_text_runs(text, monkeypatch):
    ran = []
    for name in ("eval", "exec", "open"):
        monkeypatch.setattr(builtins, name, lambda *given, **named: ran.append(given))
    with pytest.raises(ParameterError, match=r"no coefficient|cannot be read"):
        read(text)
    assert ran == []


def test_units_do_not_make_restrictions_the_same():
    weights, _, _ = read("age = 1e-9 * hours, hours = 1e9 * age^2")
    assert len(weights) == 2


@given(st.text(alphabet="age hours^2[]`()*/+-=,.0123456789e:;_'\"\\\n", max_size=40))
def test_odd_texts_are_read_or_refused(text):
    try:
        weights, values, texts = read(text)
    except ParameterError:
        return
    assert weights.shape == (len(texts), len(NAMES))
    assert np.isfinite(weights).all()
    assert np.isfinite(values).all()


@given(st.lists(st.integers(-5, 5), min_size=7, max_size=7).filter(any), st.integers(-9, 9))
def test_a_written_restriction_reads_back(row, value):
    names = ("a", "b", "c", "d", "e", "f", "g")
    made = Restrictions.of((row, value), names)
    again = Restrictions.of(made.texts[0], names)
    np.testing.assert_allclose(again.weights, [row])
    np.testing.assert_allclose(again.values, [value])
