"""Tables made up for demonstration, with the bounds that anyone would know without having seen them."""

from typing import Any

import numpy as np

from .data import Bounds
from .errors import ParameterError
from .randomness import chi_square, standard_normal, streams

Array = np.ndarray[Any, np.dtype[Any]]

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
