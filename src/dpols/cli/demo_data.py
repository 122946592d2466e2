"""Tables made up for demonstration, with the bounds that anyone would know without having seen them."""

from typing import Any

import numpy as np

from ..data import Bounds
from ..errors import ParameterError
from ..randomness import chi_square, standard_normal, streams

Array = np.ndarray[Any, np.dtype[Any]]

STAFF_TARGET = "pay"
STAFF_DECLARED = """\
[target]
name = "pay"
low = 0
high = 120000

[features.age]
low = 16
high = 70
missing = 40

[features.hours]
low = 0
high = 60

[features.region]
categories = ["north", "south", "east", "west"]
missing = "north"

[features.contract]
categories = ["permanent", "temporary"]
unknown = "other"
"""
PATIENTS_TARGET = "yearly_cost"
PATIENTS_BOUNDS = Bounds(
    features={
        "age": (18, 90),
        "bmi": (15, 50),
        "smoker": (0, 1),
        "chronic_conditions": (0, 6),
        "exercise_hours": (0, 14),
        "children": (0, 6),
        "rural": (0, 1),
    },
    target=(0, 25_000),
)


def patients(n_rows: int, *, seed: int) -> dict[str, Array]:
    """Return columns of made-up patients and the yearly cost of their care; the same seed gives the same rows.

    Features depend on each other as they do in life: weight and illness grow with age, and who is heavy moves less.
    The cost is linear in them on average, skewed, and more uncertain the higher it is.
    """
    if n_rows < 1:
        raise ParameterError(f"n_rows={n_rows!r} must be a positive whole number.")
    bits = streams(seed, 1)[0]
    z = standard_normal(bits, (7, n_rows))
    age = np.clip(np.round(47.0 + 17.0 * z[0]), 18, 90)
    bmi = np.clip(np.round(27.0 + 0.05 * (age - 47.0) + 4.5 * z[1], 1), 15, 50)
    smoker = (z[2] > 0.75 + 0.008 * (age - 47.0)).astype(np.float64)
    illness = 0.8 + 0.03 * (age - 47.0) + 0.07 * (bmi - 27.0) + 0.6 * smoker + z[3]
    chronic_conditions = np.clip(np.floor(illness), 0, 6)
    exercise_hours = np.clip(np.round(4.5 - 0.2 * (bmi - 27.0) - 0.5 * chronic_conditions + 2.5 * z[4], 1), 0, 14)
    children = np.clip(np.round(1.2 + 0.01 * (age - 47.0) + 1.3 * z[5]), 0, 6)
    rural = (z[6] > 0.8).astype(np.float64)
    expected = (
        2_000.0
        + 90.0 * (age - 18.0)
        + 120.0 * (bmi - 15.0)
        + 6_500.0 * smoker
        + 2_400.0 * chronic_conditions
        - 150.0 * exercise_hours
        + 250.0 * children
        + 700.0 * rural
    )
    luck = chi_square(bits, np.full(n_rows, 16.0)) / 16.0
    yearly_cost = np.clip(np.round(expected * luck), 0, 25_000)
    return {
        "age": age,
        "bmi": bmi,
        "smoker": smoker,
        "chronic_conditions": chronic_conditions,
        "exercise_hours": exercise_hours,
        "children": children,
        "rural": rural,
        PATIENTS_TARGET: yearly_cost,
    }


def staff(n_rows: int, *, seed: int) -> dict[str, Array]:
    """Return columns of made-up employees and their yearly pay: numbers and text, with a few cells empty (None).

    ``STAFF_DECLARED`` is what anyone would declare of them in a bounds file.
    """
    if n_rows < 1:
        raise ParameterError(f"n_rows={n_rows!r} must be a positive whole number.")
    z = standard_normal(streams(seed, 1)[0], (6, n_rows))
    age = np.clip(np.round(42.0 + 12.0 * z[0]), 16, 70)
    contract = np.array(["permanent", "temporary", "intern"], dtype=object)[
        (z[1] > 0.9).astype(int) + (z[1] > 2.2).astype(int)
    ]
    hours = np.clip(np.round(36.0 - 8.0 * (contract != "permanent") + 5.0 * z[2]), 0, 60)
    region = np.array(["north", "south", "east", "west"], dtype=object)[np.digitize(z[3], (-0.6, 0.1, 0.8))]
    pay = 4_000.0 + 300.0 * (age - 16.0) + 900.0 * hours + 6_000.0 * (region == "south") - 4_000.0 * (region == "west")
    pay = np.clip(np.round(pay - 5_000.0 * (contract != "permanent") + 6_000.0 * z[4]), 0, 120_000)
    known_age, known_region = age.astype(object), region.copy()
    known_age[z[5] > 2.0] = None
    known_region[z[5] < -2.3] = None
    return {"age": known_age, "hours": hours, "region": known_region, "contract": contract, STAFF_TARGET: pay}


def staff_outcomes(n_rows: int, *, seed: int) -> dict[str, Array]:
    """Return made-up employees as ``staff`` does, with two more outcomes: whether they left, and their sick days."""
    columns = staff(n_rows, seed=seed)
    z = standard_normal(streams(seed + 1, 1)[0], (2, n_rows))
    temporary = columns["contract"] != "permanent"
    old = np.where(columns["age"] == None, 42.0, columns["age"]).astype(np.float64)  # noqa: E711
    leaving = -1.2 + 1.1 * temporary - 0.05 * (old - 42.0) - 0.03 * (columns["hours"] - 36.0) + 1.2 * z[0]
    left = np.where(leaving > 0.0, "yes", "no").astype(object)
    sick = np.clip(np.floor(np.exp(1.1 + 0.02 * (old - 42.0) - 0.3 * temporary + 0.6 * z[1])), 0, 60)
    return {**columns, "left_within_a_year": left, "sick_days": sick}
