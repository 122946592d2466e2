"""What a bounds file declares, and what it is told where it declares nonsense."""

import tomllib

import pytest

from dpols import CategoricalColumn, Factor, FeatureMap, NumericColumn, transforms
from dpols.errors import BoundsError
from dpols.feature_map.toml import feature_map_from_toml

WHOLE = """
interactions = [["age", "region"], ["age", "hours"]]

[target]
low = 0
high = 100

[features.age]
low = 18
high = 90
missing = 45
degree = 3

[features.hours]
low = 0
high = 60
centre = 40

[features.region]
categories = ["north", "south", "west"]
unknown = "other"
missing = "north"
drop_first = false

[features.member]
categories = [true, false]
"""


def declared(text):
    return feature_map_from_toml(tomllib.loads(text))


def test_everything_can_be_declared():
    columns = {
        "age": NumericColumn(18, 90, missing=45),
        "hours": NumericColumn(0, 60),
        "region": CategoricalColumn(["north", "south", "west"], unknown="other", missing="north", drop_first=False),
        "member": CategoricalColumn([True, False]),
    }
    terms = [
        *columns,
        Factor("age", 2, origin=54.0),
        Factor("age", 3, origin=54.0),
        (Factor("age", origin=54.0), "region"),
        (Factor("age", origin=54.0), Factor("hours", origin=40.0)),
    ]
    assert declared(WHOLE) == FeatureMap(columns, terms, target=(0, 100))
    assert "(age - 54)^2" in declared(WHOLE).names


def test_the_target_may_have_a_name_and_may_be_left_out():
    named = declared(WHOLE.replace("[target]", '[target]\nname = "pay"'))
    assert (named.target, named.target_name) == ((0.0, 100.0), "pay")
    assert declared(WHOLE.replace("[target]\nlow = 0\nhigh = 100", "")).target is None


def test_powers_and_products_of_raw_columns_have_their_centre_at_zero():
    text = WHOLE.replace("degree = 3", "degree = 2\ncentre = 0")
    assert {"age^2", "age:region[other]", "age:(hours - 40)"} <= set(declared(text).names)


BAD = {
    "unknown table": ("[target]", "[goal]", "'goal'"),
    "no limit": ("high = 90", "", r"\[features.age\] has no high"),
    "both": ("missing = 45", 'categories = ["a", "b"]', "'degree'"),
    "unknown field": ("missing = 45", "middle = 45", "'middle'"),
    "missing outside": ("missing = 45", "missing = 5", r"\[features.age\]: missing=5.0 must lie in"),
    "missing of text": ("missing = 45", 'missing = "old"', r"\[features.age\]: missing='old' must be"),
    "missing no category": ('missing = "north"', 'missing = "east"', r"\[features.region\]: missing='east' must be"),
    "degree of zero": ("degree = 3", "degree = 0", "degree = 0"),
    "degree of text": ("degree = 3", 'degree = "two"', "degree = 'two'"),
    "centre of text": ("centre = 40", 'centre = "x"', "centre = 'x'"),
    "no list": ('["age", "hours"]', '"age"', "list of lists"),
    "one column": ('["age", "hours"]', '["age"]', "list of lists"),
    "unknown column": ('["age", "hours"]', '["age", "houses"]', "'houses'"),
    "a category twice": ('"south"', '"north"', r"\[features.region\]: categories has 'north' more than once"),
    "infinite": ("high = 90", "high = inf", r"\[features.age\]: \(low, high\)=\(18, inf\) must be finite"),
    "one category": ("[true, false]", "[true]", r"\[features.member\]: categories=.* must have"),
    "name of the target": ("high = 100", "high = 100\nname = 3", r"\[target\] has a name"),
    "limits of the target": ("high = 100", "high = -1", r"\[target\] has low"),
}


@pytest.mark.parametrize("case", BAD)
def test_nonsense_is_refused_by_its_place(case):
    old, new, words = BAD[case]
    assert old in WHOLE
    with pytest.raises(BoundsError, match=words):
        declared(WHOLE.replace(old, new, 1))


def test_transforms_and_references_are_declared_as_in_python():
    made = declared("""
interactions = [["pay", "age"], ["age", "curve"]]

[target]
name = "spent"
low = 1
high = 1000
transform = "log"

[features.pay]
low = 1
high = 64
transform = "log2"
degree = 2

[features.age]
low = 18
high = 90
transform = { centre = 40, scale = 10 }

[features.curve]
low = 0
high = 10
transform = ["sqrt", { knots = [1, 2], degree = 1 }]

[features.region]
categories = ["north", "south", "west"]
reference = "west"
case = "exact"
""")
    columns = {
        "pay": NumericColumn(1, 64, transform="log2"),
        "age": NumericColumn(18, 90, transform=transforms.Standardize(40, 10)),
        "curve": NumericColumn(0, 10, transform=["sqrt", transforms.Spline([1, 2], 1)]),
        "region": CategoricalColumn(["west", "north", "south"], case="exact"),
    }
    assert made.columns == columns
    curve = tuple(f"bs(sqrt(curve))[{i}]" for i in (1, 2, 3))
    assert made.names[:6] == ("log2(pay)", "(age - 40)/10", *curve, "region[north]")
    assert "(log2(pay) - 3)^2" in made.names
    assert "(log2(pay) - 3):((age - 40)/10 - 1.4)" in made.names
    assert (made.target, made.target_name, made.fitted_name) == ((1.0, 1000.0), "spent", "log(spent)")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('transform = "ln"', r"\[features.age\]: transform 'ln' is not known"),
        ("transform = { power = 0 }", "from -16 to 16"),
        ("transform = { knot = [3] }", "must have power, or centre and scale, or knots"),
        ("transform = { knots = [200] }", r"knots \[200.0\] of age must lie inside of its range \[18, 90\]"),
        ("transform = { knots = [40] }\ndegree = 2", "is a spline, whose pieces have no powers"),
        ('transform = ["sqrt", 3]', "must be one of log"),
    ],
)
def test_a_transform_that_is_none_is_refused(line, message):
    with pytest.raises(BoundsError, match=message):
        declared(f"[target]\nlow = 0\nhigh = 1\n[features.age]\nlow = 18\nhigh = 90\n{line}\n")
