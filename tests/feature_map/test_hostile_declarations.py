"""Whatever stands in a file or a formula: a feature map that works, or a refusal by dpols."""

import copy
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn
from dpols.errors import BoundsError, DpolsError, ModelFileError
from dpols.feature_map.toml import feature_map_from_toml
from dpols.formula import translated

MAP = FeatureMap(
    {"a": NumericColumn(-1, 2, missing=0), "r": CategoricalColumn(["x", "y", "z"], unknown="other", missing="x")},
    target=(0, 1),
).plus(("a", "a"), ("a", "r"))
TOML = """
interactions = [["a", "r"]]
[target]
low = 0
high = 1
[features.a]
low = -1
high = 2
missing = 0
degree = 2
centre = 1
[features.r]
categories = ["x", "y"]
unknown = "other"
missing = "x"
drop_first = true
"""
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["a", "r", "x", "numeric", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(tree, path=()):
    """Every place in a tree of plain data."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def changed(tree, path, value):
    if not path:
        return value
    result = copy.deepcopy(tree)
    at = result
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return result


def works(made):
    rows = np.array([[0.5] * len(made.columns), ["x"] * len(made.columns), [None] * len(made.columns)], dtype=object)
    numbers = all(isinstance(column, NumericColumn) for column in made.columns.values())
    features = made.transform(rows[:1] if numbers else rows[2:])
    assert features.shape[1] == len(made.names) == len(made.bounds().features)
    assert FeatureMap.from_dict(made.to_dict()) == made


@given(data=st.data(), value=anything)
@settings(max_examples=400)
def test_a_changed_map_is_refused_or_works(data, value):
    whole = MAP.to_dict()
    path = data.draw(st.sampled_from(list(places(whole))))
    try:
        made = FeatureMap.from_dict(changed(whole, path, value))
    except ModelFileError:
        return
    works(made)


@given(data=st.data(), value=anything)
@settings(max_examples=400)
def test_a_changed_declaration_is_refused_or_works(data, value):
    whole = tomllib.loads(TOML)
    path = data.draw(st.sampled_from([path for path in places(whole) if path]))
    try:
        made = feature_map_from_toml(changed(whole, path, value))
    except BoundsError:
        return
    works(made)


words = st.sampled_from(
    [*"yarq~+-*/:()^|.0123,='", "**", " ", "C(", "I(", "poly(", "levels=[", "]", "raw=True", "{", "}"]
)


@given(text=st.lists(words, max_size=14).map("".join) | st.text(max_size=12).map(lambda text: f"y ~ {text}"))
@settings(max_examples=400)
@pytest.mark.filterwarnings("error")
def test_any_formula_is_refused_or_works(text):
    try:
        made = translated(text, Bounds(features={"a": (0, 1), "r": (-1, 1)}, target=(0, 1)))
    except DpolsError:
        return
    works(made.feature_map)
