"""Units, weights, maps, paid bounds, inference and a private n on every kind of source, in pairs: one result of all.

The same rows lie in each source in an order and in parts of its own. Fits on engines take long, so that without
DPOLS_WHOLE, which `make sources` sets, few of them run.
"""

import os
import re
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from dpols import (
    Bounds,
    CategoricalColumn,
    FeatureMap,
    NumericColumn,
    PaidBounds,
    PrivateLinearRegression,
    read,
)

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore:PySpark does not yet fully")]

N = 900
SCHEMA = "who long, x double, z long, g string, w double, y double"
RANGES = {"x": (-3.0, 3.0), "z": (0.0, 4.0)}
BOUNDS = Bounds(features=RANGES, target=(-6.0, 8.0))
COLUMNS = {
    "x": NumericColumn(*RANGES["x"]),
    "z": NumericColumn(*RANGES["z"], transform="sqrt"),
    "g": CategoricalColumn(["north", "south", "west"], unknown="other", missing="west"),
}
MAP = FeatureMap(COLUMNS, ["x", "z", "g", ("x", "g")], target=(-6.0, 8.0))
OPTIONS = {
    "units": {"unit": "who", "max_rows_per_unit": 3},
    "weights": {"max_weight": 4.0},
    "map": {"bounds": None, "feature_map": MAP},
    "paid": {"bounds": PaidBounds(features=RANGES, target=(-60.0, 80.0))},
    "inference": {"inference": True},
    "add-remove": {"neighbours": "add-remove"},
}
MOST = ("units", "weights", "map", "paid", "add-remove")
TOGETHER = [*combinations(OPTIONS, 1), *combinations(OPTIONS, 2), MOST, tuple(OPTIONS)]
ON_ENGINES = {"dask": [("units",), ("map",), MOST], "spark": [MOST]}
WHOLE = bool(os.environ.get("DPOLS_WHOLE"))


@cache
def table():
    """Units of 1 to 12 rows, many of them equal, with empty cells and values beyond their bounds."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(11)
    made = pandas.DataFrame(
        {
            "who": np.sort(rng.zipf(1.6, N) % 200),
            "x": rng.standard_normal(N).round(1),
            "z": rng.integers(0, 5, N),
            "g": rng.choice(["north", " South", "west", "abroad", None], N),
        }
    )
    made["w"] = rng.choice([0.0, 0.5, 1.0, 3.0, 5.0], N)
    made["y"] = (made["x"] + 0.5 * made["z"] + (made["g"] == "west") + rng.integers(0, 3, N)).round(1)
    return made


def shuffled(seed):
    return table().sample(frac=1.0, random_state=seed)


class Query:
    """Anything that streams Arrow batches each time it is asked."""

    def __arrow_c_stream__(self, requested_schema=None):
        pyarrow = pytest.importorskip("pyarrow")
        batches = pyarrow.Table.from_pandas(shuffled(1), preserve_index=False).to_batches(max_chunksize=70)
        return pyarrow.Table.from_batches(batches).__arrow_c_stream__()


def array(names):
    """Rows without names; the unit is a column by its number, and only the columns in use are there."""
    columns = ["x", "z", *(["g"] if "map" in names else []), *(["who"] if "units" in names else [])]
    return table()[columns].to_numpy(dtype=object if "map" in names else float), table()["y"].to_numpy()


def csv(folder):
    shuffled(3).to_csv(folder / "t.csv", index=False)
    return (read(folder / "t.csv", "y"),)


def parquet(folder):
    for number, part in enumerate((slice(0, 1), slice(1, 500), slice(500, N))):
        shuffled(4).iloc[part].to_parquet(folder / f"{number}.parquet", index=False, row_group_size=60)
    return (read(folder, "y"),)


def polars_table():
    return pytest.importorskip("polars").from_pandas(shuffled(2))


SOURCES = {
    "array": lambda request: None,  # which depends on what is in use
    "pandas": lambda request: (table(), "y"),
    "polars": lambda request: (polars_table(), "y"),
    "polars, lazy": lambda request: (polars_table().lazy(), "y"),
    "arrow stream": lambda request: (Query(), "y"),
    "csv": lambda request: csv(request.getfixturevalue("tmp_path")),
    "parquet": lambda request: parquet(request.getfixturevalue("tmp_path")),
    "dask": lambda request: (on_dask(request.getfixturevalue("client")), "y"),
    "spark": lambda request: (on_spark(request.getfixturevalue("spark")), "y"),
}


def on_dask(_client):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(shuffled(5), npartitions=4, sort=False)


def on_spark(session):
    rows = [tuple(None if value != value else value for value in row) for row in shuffled(6).itertuples(index=False)]
    return session.createDataFrame(rows, SCHEMA).repartition(3).cache()


def model(names):
    wanted = {"bounds": BOUNDS, "options": {"n_iterations": 6 if "inference" in names else 3}, "random_state": 5}
    for name in names:
        wanted |= OPTIONS[name]
    if "map" in names and "paid" in names:
        wanted["bounds"] = PaidBounds()  # within the ranges of the map
    return PrivateLinearRegression(6.0, 1e-6, arithmetic="exact", **wanted)


@cache
def expected(names):
    return released(model(names).fit(table(), "y", sample_weight="w" if "weights" in names else None))


def released(fitted):
    report = replace(fitted.privacy_report_, target_name="y", unit=None, table_name=None)
    return (*np.array([*fitted.coef_, fitted.intercept_]).view(np.uint64).tolist(), report.to_json())


def cases():
    for source in SOURCES:
        marks = [pytest.mark.spark] if source == "spark" else []
        for names in TOGETHER if WHOLE else ON_ENGINES.get(source, TOGETHER):
            yield pytest.param(source, names, id=f"{source}: {' and '.join(names)}", marks=marks)


@pytest.mark.parametrize(("source", "names"), list(cases()))
def test_every_source_gives_one_result(request, source, names):
    fitting, weights = model(names), "w" if "weights" in names else None
    rows = SOURCES[source](request)
    if rows is None:
        rows, weights = array(names), weights and table()["w"].to_numpy()
        if "units" in names:
            fitting.set_params(unit=rows[0].shape[1] - 1)
        if "map" not in names:  # by place, as there are no names
            bounds = fitting.bounds
            fitting.set_params(bounds=replace(bounds, features=list(RANGES.values())))
    assert comparable(released(fitting.fit(*rows, sample_weight=weights))) == comparable(expected(names))


def comparable(found):
    """Leave out what arrays have no names for; the hash of what intervals are computed from is of names, too."""
    texts = [re.sub('"inference_hash": "[0-9a-f]+"', "", str(part)) for part in found]
    named = (("x0", "x"), ("x1", "z"), ("target", "y"))  # in lists, and within sentences
    for place, name in named:
        texts = [re.sub(rf"""(['"]){place}\1(?!:)""", rf"\1{name}\1", text) for text in texts]
    return texts
