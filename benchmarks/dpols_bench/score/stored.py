"""Scores of a method that is not in the library: adaptive damped Newton steps, the reference of the default.

``adaptive_scores.csv`` holds the mean excess empirical risk of each cell with its standard error, as this scoreboard
measured them in float arithmetic under exact accounting.
"""

import csv
from functools import lru_cache
from importlib.resources import files

from ..paper.summary import Mean


@lru_cache(maxsize=1)
def adaptive_scores() -> dict[tuple[str, float], Mean]:
    """Return the stored mean of each data set and epsilon."""
    text = files(__package__).joinpath("adaptive_scores.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["dataset"], float(row["epsilon"])): Mean(float(row["mean"]), float(row["error"])) for row in rows}
