"""What the mutations start from: a few sound inputs for each reader, and words that mean something to it."""

import io
import json
import math
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from dpols.data import Bounds
from dpols.estimators import PrivateLinearRegression
from dpols.feature_map import CategoricalColumn, Factor, FeatureMap, NumericColumn
from dpols.ledger import BudgetLedger
from dpols.ledger.store import Store
from dpols.privacy import FailureAllowance, GaussianRelease, MixingRelease, OpaqueRelease

# A value that only rows hold: no message may quote it.
CANARY = b"7351942608"

BOUNDS = (
    b"""# pay
[target]
low = 0
high = 2.5e4

[features.age]
low = 18
high = 90

[features."body mass"]
low = -1.5
high = 50
""",
    b"""interactions = [["age", "city"]]
[target]
low = 0
high = 1
[features.age]
low = 18
high = 90
missing = 50
degree = 2
centre = 40
[features.city]
categories = ["north", "south"]
unknown = "other"
missing = "north"
drop_first = false
""",
    b"""[target]
name = "pay"
low = 1
high = 9
transform = "log"
[features.age]
low = 18
high = 90
transform = ["sqrt"]
[weight]
name = "design"
high = 40
[exposure]
name = "years"
low = 0.5
high = 2
""",
    b"""[target]
name = "late"
[features.age]
low = 18
high = 90
""",
    b"""column,low,high
age,18,90
pay,0,100
""",
)
CSV = (
    b"age,hours,city,pay\n40,20.5,town,7351942608\n41,0,,37\n-1e3,,,nan\n" + b"18,2,x,7351942608\n" * 3,
    b'\xef\xbb\xbf"a","b, ""c""",y\r\ntrue,1,7351942608\r\nfalse,2,inf\r\n',
    b'a,y\n1,"2"\n"",3\n' + b'"4","5"\n' * 30,
    b"a;b\n1;2\n",
    b"a,b\n1,2,3\n",
)
FOLDERS = (
    b"year=2024/a.csv\nyear=2025/b.csv",
    b"data.csv",
    b"_meta/x\n.hidden\nmonth=%31/x.csv",
    b"_delta_log/0.json\na.csv",
)
OPTIONS = (
    b"ihm\nn_iterations=5\nridge=true\neigenvalue=off",
    b"adassp\neigenvalue_share=0.25\nnoise=classical",
    b"dp-gd\nlearning_rate=1e-3",
)
DELTAS = (b"1/n^2", b" 1 / n ** 1.5 ", b"1e-6", b"1/n")


def parquet() -> list[bytes]:
    """Return tables of numbers, of decimals and of other types."""
    from pyarrow import parquet as format_

    return [
        _bytes_of(
            lambda file, table=table: format_.write_table(
                table, file, compression="none", use_dictionary=False, store_schema=False
            )
        )
        for table in _tables()
    ]


def arrow() -> list[bytes]:
    """Return the same tables as Arrow files."""
    from pyarrow import ipc

    def write(file: io.BytesIO, table: Any) -> None:
        with ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    return [_bytes_of(lambda file, table=table: write(file, table)) for table in _tables()]


def npy() -> list[bytes]:
    """Return arrays of two orders, of fields and of whole numbers."""
    rows = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    rows[0, 0] = float(CANARY)
    fields = np.zeros(4, dtype=[("age", "f8"), ("pay", "i4")])
    arrays = (rows, np.asfortranarray(rows.astype(np.float32)), (100.0 * rows[1:]).astype(np.int16), fields)
    return [_bytes_of(lambda file, array=array: np.save(file, array)) for array in arrays]


def models() -> list[bytes]:
    """Return model files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        seeds = []
        for model in _fitted():
            model.save(path)
            seeds.append(path.read_bytes())
    return seeds


def reports() -> list[bytes]:
    """Return privacy reports as JSON."""
    reports = [model.privacy_report_.to_dict() for model in _fitted()]
    opaque = {"what": "elsewhere", "times": 2, "kind": "opaque", "epsilon": 0.5, "delta": 1e-7}
    reports.append(reports[0] | {"lines": [*reports[0]["lines"], opaque]})
    return [json.dumps(report).encode() for report in reports]


def feature_maps() -> list[bytes]:
    """Return feature maps as JSON."""
    columns: dict[str, Any] = {
        "age": NumericColumn(18, 90, missing=40),
        "city": CategoricalColumn(["north", "south"], unknown="other"),
    }
    built = (
        FeatureMap(columns, target=(0, 1)),
        FeatureMap(columns, ["age", "city", Factor("age", 2), ["age", "city"]]),
    )
    return [json.dumps(each.to_dict()).encode() for each in built]


def ledgers() -> list[bytes]:
    """Return ledger files."""
    return [*(_ledger(path)[0] for path in ("a", "b")), _other("PRAGMA user_version = 9"), _other("DROP TABLE head")]


def _other(statement: str) -> bytes:
    """Return a database that is no ledger of this version."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        BudgetLedger(path, epsilon=10.0, delta=1e-6)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(statement)
            if statement.startswith("DROP"):
                connection.execute("PRAGMA application_id = 0")
        return path.read_bytes()


def ledger_rows() -> list[bytes]:
    """Return the rows of a ledger as JSON."""
    return [_ledger("a")[1], _ledger("b")[1]]


def _ledger(kind: str) -> tuple[bytes, bytes]:
    """Return a ledger with charges of every kind of release, as bytes and as rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        if kind == "a":
            ledger = BudgetLedger(path, epsilon=10.0, delta=1e-6)
        else:
            ledger = BudgetLedger(path, epsilon=10.0, delta=1e-6, neighbours="replace-one", black_boxes=(1.0, 1e-9))
        ledger.add(GaussianRelease(20.0), MixingRelease(5, 900.0), FailureAllowance(1e-9), what="a fit")
        ledger.add(GaussianRelease(50.0), what="another")
        ledger.settle(ledger.reserve([[GaussianRelease(60.0)]], what="a third"))
        ledger.void(ledger.reserve([[GaussianRelease(70.0)]], what="a failure"), why="it failed")
        ledger.reserve([[GaussianRelease(80.0)], [GaussianRelease(90.0)]], what="a search that runs")
        if kind == "b":
            ledger.add(OpaqueRelease(0.5, 1e-10), what="elsewhere")
        ledger.raise_cap(12.0, 1e-3)
        return path.read_bytes(), json.dumps([row.content for row in Store(path).rows()]).encode()


def _tables() -> list[Any]:
    import pyarrow

    numbers = {"age": [40, 41, 2**62], "hours": [20.5, None, math.inf], "ok": [True, None, False]}
    more = {"city": ["town", None, CANARY.decode()], "day": pyarrow.array([1, 2, 3], pyarrow.date32())}
    decimal = pyarrow.array([1, None, 3]).cast(pyarrow.decimal128(38, 2))
    return [
        pyarrow.table(numbers),
        pyarrow.table({"pay": decimal, "none": pyarrow.nulls(3), **numbers}),
        pyarrow.table(more | numbers),
    ]


def _bytes_of(write: Any) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _fitted() -> list[PrivateLinearRegression]:
    """Return small models that between them have every kind of release and of field."""
    rows = np.linspace(-1.0, 1.0, 40).reshape(20, 2)
    target = rows.sum(axis=1) / 2.0
    norms, ranges = Bounds(x_norm=1.0, y_abs=1.0), Bounds(features=[(-1, 1), (-2, 2)], target=(-1, 1))
    named = PrivateLinearRegression(1.0, 1e-6, ranges, random_state=0).fit(rows, target)
    named.feature_names_in_ = np.array(["age", "body mass"], dtype=object)
    return [
        PrivateLinearRegression(1.0, 1e-6, norms, fit_intercept=False, arithmetic="float").fit(rows, target),
        PrivateLinearRegression(1.0, "1/n^2", ranges, method="linmix-dynamic", neighbours="replace-one").fit(
            rows, target
        ),
        named,
    ]


TOML_WORDS = (
    *(b'\ncategories = ["a", "b"]\n', b'\nunknown = "other"\n', b"\nmissing = 1\n", b"\ndegree = 3\n"),
    *(b'interactions = [["x", "y"]]\n', b"\ncentre = 0\n", b"\ndrop_first = true\n"),
    *(b"\n[features.x]\nlow = 1\nhigh = 2\n", b"\n[target]\nlow = 1\nhigh = 2\n", b"low = 1\n", b"high = 2\n"),
    *b"[target] [features.x] [features] features target low high [[ ]] { } \"\"\" '''".split(),
    *b"1979-05-27 07:32:00 0b1 1_000 \\u0000 a.b.c".split(),
    b"[" * 3000,
)
CSV_WORDS = (b"\r\n", b"\r", b"\n\n", b"\t", *b', " "" age pay true 1e5 2020-01-01 ;'.split(), CANARY)
JSON_WORDS = (
    *b'null true false [] {} "" NaN Infinity "nan" "inf" [[]] [""] 1.5 -0.0 3'.split(),
    *b'"kind" "mixing" "gaussian" "failure" "opaque" "times" "rows" "floor" "epsilon" "delta"'.split(),
    *b'"zero-out" "replace-one" "exact" "float" "coef" "report"'.split(),
)
NPY_WORDS = tuple(b"'descr' 'fortran_order' 'shape' '<f8' '|O' '<U3' '>i2' '<c16' True False () (4,) {} [ ( -1".split())
FOLDER_WORDS = (b"\n", *b"/ = year=1 x.csv .csv .parquet __HIVE_DEFAULT_PARTITION__ %20 %ff nan _ . a=1 y=2".split())
DELTA_WORDS = (b" ", *b"1 / n ^ ** .5 \xd9\xa3 _ + e-9".split())
OPTION_WORDS = (
    *(b"\n", b"whitened\n", b"ihm\n", b"linmix\n", b"sheffet\n"),
    *b"= true FALSE none 1_0 n_iterations=3 sketch_size=40 residual_bound=0.5".split(),
    *b"gradient_share=.5 failure_probability=1e-9 budget=1".split(),
)
