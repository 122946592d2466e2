"""No value of a training row is in anything that a fit leaves behind: files, reports, reprs, logs, errors.

Each row's numbers have twelve random digits, and each row has a text of its own; none of these may be found anywhere.
"""

import logging
import pickle
import traceback
import warnings

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, CategoricalColumn, FeatureMap, NumericColumn, PrivateLinearRegression, read
from dpols.algorithms import ALGORITHMS

N_ROWS = 400
BOUNDS = Bounds(features={"a": (0, 1), "b": (0, 1)}, target=(0, 2))
MAP = FeatureMap(
    {
        "a": NumericColumn(0, 1),
        "b": NumericColumn(0, 1, missing=0.5),
        "word": CategoricalColumn(["x", "y"], unknown="other"),
    },
    target=(0, 2),
).plus(("a", "b"), ("a", "a"))


class Canaries:
    """Rows whose values can be recognised wherever they turn up."""

    def __init__(self):
        rng = np.random.default_rng(7)
        digits = rng.integers(10**10, 10**11, (N_ROWS, 3)) * 10 + 7  # no zero at the end, which is not printed
        self.digits = [str(value) for value in digits.ravel()]
        self.words = [f"canary-{value}" for value in rng.integers(10**9, 10**10, N_ROWS)]
        self.numbers = digits / 10.0**12

    @property
    def columns(self):
        a, b, y = self.numbers.T
        return {"a": a, "b": b, "word": np.array(self.words, dtype=object), "y": y}

    def table(self, kind, names=("a", "b", "y")):
        columns = {name: self.columns[name] for name in names}
        if kind == "pandas":
            return pytest.importorskip("pandas").DataFrame(columns)
        if kind == "polars":
            return pytest.importorskip("polars").DataFrame({name: list(column) for name, column in columns.items()})
        return pytest.importorskip("pyarrow").table({name: list(column) for name, column in columns.items()})

    def found_in(self, left):
        """Return the first canary in some text or bytes, None where there is none."""
        if isinstance(left, bytes):
            marks = [number.tobytes() for number in self.numbers.ravel()]
            marks += [mark.encode() for mark in (*self.digits, *self.words)]
        else:
            marks = [*self.digits, *self.words]
        return next((mark for mark in marks if mark in left), None)


@pytest.fixture(scope="module")
def canaries():
    return Canaries()


def left_behind(model, folder):
    """Everything that a fitted model shows or writes."""
    model.save(folder / "model.json")
    report = model.privacy_report_
    yield (folder / "model.json").read_bytes()
    yield pickle.dumps(model)
    with np.printoptions(precision=17, threshold=10**6):
        yield repr(model) + repr(vars(model)) + repr(report)
    yield from (report.to_text(), report.to_json(), report.to_html(), report.to_markdown())
    yield pickle.dumps(model.to_sklearn())


def test_canaries_are_recognised(canaries):
    a, _, y = canaries.numbers[3]
    for leak in (f"{a:.12f}", repr({"x": float(y)}), canaries.words[5], canaries.numbers[7].tobytes(), b"canary-"):
        assert (canaries.found_in(leak) is None) == (leak == b"canary-")


@pytest.mark.parametrize("method", ALGORITHMS)
def test_no_method_leaves_a_value_behind(method, canaries, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=100.0, delta=1e-3, black_boxes=(50.0, 1e-4))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = PrivateLinearRegression(
            2.0, 1e-6, Bounds(features=[(0, 1), (0, 1)], target=(0, 2)), method=method, random_state=0, ledger=ledger
        )
        model.fit(canaries.numbers[:, :2], canaries.numbers[:, 2])
    left = [*left_behind(model, tmp_path), (tmp_path / "ledger").read_bytes(), repr(ledger), caplog.text, str(warned)]
    assert [canaries.found_in(part) for part in left] == [None] * len(left)


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "csv", "parquet"])
@pytest.mark.parametrize("mapped", [False, True])
def test_no_kind_of_table_leaves_a_value_behind(kind, mapped, canaries, tmp_path):
    names = ("a", "b", "word", "y") if mapped else ("a", "b", "y")
    model = PrivateLinearRegression(2.0, 1e-6, **({"feature_map": MAP} if mapped else {"bounds": BOUNDS}))
    model.set_params(random_state=0)
    if kind in ("csv", "parquet"):
        frame = canaries.table("pandas", names)
        frame.to_csv(tmp_path / "rows.csv", index=False)
        frame.to_parquet(tmp_path / "rows.parquet")
        source = read(tmp_path / f"rows.{kind}", target="y")
        model.fit(source)
        assert canaries.found_in(repr(source)) is None
    else:
        model.fit(canaries.table(kind, names), "y")
    for left in left_behind(model, tmp_path):
        assert canaries.found_in(left) is None


def spoiled(canaries, kind, column, value):
    """The rows with one cell replaced."""
    columns = {name: list(values) for name, values in canaries.columns.items()}
    columns[column][17] = value
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(columns)
    if kind == "polars":
        polars = pytest.importorskip("polars")
        return polars.DataFrame({name: polars.Series(values, strict=False) for name, values in columns.items()})
    return np.array(list(zip(*(columns[name] for name in ("a", "b", "word")), strict=True)), dtype=object)


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy"])
@pytest.mark.parametrize("column", ["a", "y"])
@pytest.mark.parametrize("value", ["canary", float("nan"), float("inf"), None])
@pytest.mark.parametrize("mapped", [False, True])
def test_no_error_quotes_a_value(kind, column, value, mapped, canaries, caplog):
    caplog.set_level(logging.DEBUG)
    value = canaries.words[17] if value == "canary" else value
    rows = spoiled(canaries, kind, column, value)
    if kind != "numpy" and not mapped:
        rows = rows[["a", "b", "y"]]
    elif not mapped:
        rows = rows[:, :2]
    model = PrivateLinearRegression(2.0, 1e-6, **({"feature_map": MAP} if mapped else {"bounds": BOUNDS}))
    if kind == "numpy":
        model.set_params(**({} if mapped else {"bounds": Bounds(features=[(0, 1), (0, 1)], target=(0, 2))}))
    target = "y"
    if kind == "numpy":
        target = canaries.columns["y"].astype(object)
        target[17] = value if column == "y" else target[17]
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(rows, target)
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text + repr(vars(model))
    assert canaries.found_in(shown) is None


@pytest.mark.extras
@pytest.mark.parametrize(
    "line", ["WORD,0.5,x,1", "0.5,WORD,x,1", "0.5,0.5,x,WORD", "WORD", "1,2,WORD,3,4", "0.5,,WORD,"]
)
@pytest.mark.parametrize("mapped", [False, True])
def test_no_error_of_a_file_quotes_a_value(line, mapped, canaries, tmp_path):
    rows = zip(*canaries.columns.values(), strict=True)
    lines = ["a,b,word,y", *(",".join(map(str, row)) for row in rows), line.replace("WORD", canaries.words[0])]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    model = PrivateLinearRegression(2.0, 1e-6, **({"feature_map": MAP} if mapped else {"bounds": BOUNDS}))
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(read(tmp_path / "rows.csv", target="y", columns=None if mapped else ["a", "b"]))
    assert canaries.found_in("".join(traceback.format_exception(caught.value))) is None
