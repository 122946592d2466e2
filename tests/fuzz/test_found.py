"""What fuzzing found, each as the smallest input that shows it."""

import contextlib
import copy
import json
import math
import os
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dpols import (
    Bounds,
    BudgetLedger,
    NumericColumn,
    PrivacyReport,
    PrivateLinearRegression,
    randomness,
    release_sketch,
)
from dpols.algorithms import ALGORITHMS, algorithm, planned_epsilon
from dpols.cli.bounds_file import read_feature_map
from dpols.data.files import column_types, read
from dpols.errors import (
    BadRowsError,
    BoundsError,
    BudgetExceeded,
    CalibrationError,
    DataError,
    DataTypeError,
    LedgerError,
    ModelFileError,
    ParameterError,
)
from dpols.ledger.store import Store
from dpols.privacy import GaussianRelease, PrivacyBudget
from dpols.privacy.budget import delta_from_rule
from dpols.storage.model_file import read_model, write_model

NORMS = Bounds(x_norm=1.0, y_abs=1.0)
TOO_LARGE = 10**400


def rows(n_rows=30, n_features=2):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n_rows, n_features))
    return X, X[:, 0] / 2.0


def model(**changes):
    return PrivateLinearRegression(**({"epsilon": 1.0, "delta": 1e-6, "bounds": NORMS, "random_state": 0} | changes))


@pytest.fixture
def no_bits(monkeypatch):
    """Fail where random bits are drawn."""

    def drawn(*_):
        pytest.fail("random bits were drawn")

    for source in (randomness.SystemBits, randomness.SeededBits):
        monkeypatch.setattr(source, "words", drawn)


@pytest.fixture(scope="module")
def report():
    return model().fit(*rows()).privacy_report_.to_dict()


REPORTS = {
    "unknown relation": lambda report: report.update(relation="both"),
    "relation of no text": lambda report: report.update(relation=[]),
    "arithmetic mode of no text": lambda report: report.update(arithmetic={}),
    "method of no text": lambda report: report.update(method=3),
    "seeded as a word": lambda report: report.update(seeded="no"),
    "spent as a word": lambda report: report.update(spent_epsilon="1.0"),
    "spent without end": lambda report: report.update(spent_epsilon=math.inf),
    "spent beyond doubles": lambda report: report.update(spent_epsilon=TOO_LARGE),
    "asked beyond doubles": lambda report: report["asked"].update(epsilon=TOO_LARGE),
    "rows as a word": lambda report: report.update(n_rows="30"),
    "certificate as a word": lambda report: report.update(certified_delta="1e-6"),
    "line of no mapping": lambda report: report["lines"].insert(0, []),
    "line without a name": lambda report: report["lines"][0].update(what=True),
    "line of a kind of no text": lambda report: report["lines"][0].update(kind=[]),
    "line of half a time": lambda report: report["lines"][0].update(times=1.5),
    "line of no times": lambda report: report["lines"][0].update(times=0),
    "line of endless times": lambda report: report["lines"][0].update(times=10**18),
    "line of times beyond doubles": lambda report: report["lines"][0].update(times=TOO_LARGE),
    "sketch floor beyond doubles": lambda report: report["lines"][0].update(floor=TOO_LARGE),
    "bounds of one word": lambda report: report["bounds"].insert(0, ["age"]),
    "bounds as text": lambda report: report.update(bounds="ab"),
    "assumptions as text": lambda report: report.update(assumed_public="ab"),
    "coefficient as a word": lambda report: report["coefficients"][0].update(value="1.0"),
    "coefficient without end": lambda report: report["coefficients"][0].update(value=-math.inf),
    "coefficient without a name": lambda report: report["coefficients"][0].update(name=None),
    "noise as a list": lambda report: report["coefficients"][0].update(noise_stddev=[]),
    "coefficient of no mapping": lambda report: report["coefficients"].append(3),
}


@pytest.mark.parametrize("spoil", REPORTS.values(), ids=REPORTS)
def test_a_report_that_could_not_be_printed_is_refused(report, spoil):
    spoiled = copy.deepcopy(report)
    spoil(spoiled)
    with pytest.raises(ModelFileError, match="privacy report"):
        PrivacyReport.from_dict(spoiled)


@pytest.mark.parametrize("data", [None, [], "text", 3, {}])
def test_what_is_no_report_at_all_is_refused(data):
    with pytest.raises(ModelFileError, match="privacy report"):
        PrivacyReport.from_dict(data)


@pytest.mark.parametrize("name", ["lines", "bounds", "coefficients"])
def test_a_report_without_lines_can_be_printed(report, name):
    assert "Privacy report" in str(PrivacyReport.from_dict(report | {name: []}))


MODELS = {
    "coefficient as a word": {"coef": ["nan", 1.0]},
    "coefficients as text": {"coef": "12"},
    "no coefficients": {"coef": []},
    "coefficient beyond doubles": {"coef": [1.0, TOO_LARGE]},
    "intercept beyond doubles": {"intercept": TOO_LARGE},
    "intercept as a word": {"intercept": "inf"},
    "intercept as a truth": {"intercept": True},
    "names as text": {"feature_names": "ab"},
    "names of numbers": {"feature_names": [1, 2]},
    "one name too few": {"feature_names": ["a"]},
    "no names": {"feature_names": []},
}


@pytest.mark.parametrize("change", MODELS.values(), ids=MODELS)
def test_a_model_that_could_not_predict_is_refused(change, tmp_path):
    model().fit(*rows()).save(tmp_path / "model.json")
    write_model(tmp_path / "model.json", read_model(tmp_path / "model.json") | change)
    with pytest.raises(ModelFileError, match=r"model\.json"):
        PrivateLinearRegression.load(tmp_path / "model.json")


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_budget_beyond_doubles_is_refused_by_name(name):
    with pytest.raises(ParameterError, match=name):
        PrivacyBudget(**({"epsilon": 1.0, "delta": 1e-6} | {name: TOO_LARGE}))


@pytest.mark.parametrize("kind", ["array", "list", "frame"])
@pytest.mark.parametrize("where", ["features", "target"])
def test_numbers_beyond_doubles_are_infinite(kind, where):
    def table(cell):
        X, y = (values.astype(object) for values in rows())
        (X if where == "features" else y).flat[0] = cell
        if kind == "frame":
            pandas = pytest.importorskip("pandas")
            return pandas.DataFrame(X), pandas.Series(y)
        return (X.tolist(), y.tolist()) if kind == "list" else (X, y)

    with pytest.raises(BadRowsError):
        model(bad_rows="raise").fit(*table(TOO_LARGE))
    coefficients = [model(bad_rows="zero").fit(*table(cell)).coef_.tolist() for cell in (TOO_LARGE, np.inf)]
    assert coefficients[0] == coefficients[1]


@pytest.mark.parametrize("kind", ["array", "frame", "series", "file"])
def test_long_doubles_beyond_doubles_are_infinite_and_no_warning_tells(kind, tmp_path):
    X, y = rows()
    long, infinite = X.astype(np.longdouble), X.copy()
    long[3, 0], infinite[3, 0] = np.longdouble("1e4000"), np.inf
    if np.isinf(long[3, 0]):
        pytest.skip("long doubles are doubles here")
    data = long, y
    if kind == "frame":
        data = pytest.importorskip("pandas").DataFrame(long), y
    elif kind == "series":
        data, infinite = (X, pytest.importorskip("pandas").Series(y.astype(np.longdouble))), X.copy()
        data[1][3], infinite[3, 0] = np.longdouble("1e4000"), np.inf
    elif kind == "file":
        pytest.importorskip("pyarrow")
        columns = [(f"x{i}", np.longdouble) for i in range(X.shape[1])]
        table = np.empty(len(y), dtype=[*columns, ("y", float)])
        for i, (name, _) in enumerate(columns):
            table[name] = long[:, i]
        table["y"] = y
        np.save(tmp_path / "rows.npy", table)
        data = read(tmp_path / "rows.npy", target="y"), None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model(bad_rows="zero").fit(*data)
    np.testing.assert_array_equal(found.coef_, model(bad_rows="zero").fit(infinite, y).coef_)


@pytest.mark.extras
def test_whole_numbers_that_doubles_round_are_fitted_from_arrow_as_from_elsewhere():
    pyarrow = pytest.importorskip("pyarrow")
    _, y = rows()
    whole = np.arange(30) * 2**57 + 1
    table = pyarrow.table({"a": whole, "y": y})
    bounds = Bounds(features=[(0, 2**62)], y_abs=1.0)
    expected = model(bounds=bounds).fit(whole[:, None], y).coef_
    np.testing.assert_array_equal(model(bounds=bounds).fit(table, "y").coef_, expected)


class TestFailedFits:
    """A fit that fails leaves the estimator as it was."""

    def refused(self, estimator):
        with pytest.raises(ValueError, match="NaN"):
            estimator.fit(np.full((30, 3), np.nan), rows()[1])

    def test_a_new_estimator_is_not_fitted(self):
        estimator = model()
        self.refused(estimator)
        with pytest.raises(NotFittedError):
            check_is_fitted(estimator)
        with pytest.raises(NotFittedError):
            estimator.predict(rows()[0])

    def test_a_fitted_estimator_keeps_its_fit(self):
        X, y = rows()
        estimator = model().fit(X, y)
        before = dict(vars(estimator))
        self.refused(estimator)
        assert vars(estimator) == before
        assert estimator.predict(X).shape == y.shape

    def test_nothing_is_left_where_the_entropy_source_fails(self, monkeypatch):
        def broken(count):
            raise OSError("no entropy")

        estimator = model(random_state=None)
        before = dict(vars(estimator))
        monkeypatch.setattr(os, "urandom", broken)
        with pytest.raises(OSError, match="entropy"):
            estimator.fit(*rows())
        assert vars(estimator) == before


class TestExtremeBudgets:
    """Where no noise can be found, that is said before anything is drawn."""

    @pytest.mark.usefixtures("no_bits")
    @pytest.mark.parametrize("method", ALGORITHMS)
    @pytest.mark.parametrize("accounting", ["exact", "paper"])
    @pytest.mark.parametrize(
        ("epsilon", "delta"), [(1e-320, 1e-6), (1e-100, 0.1), (1e100, 1e-6), (1e308, 0.5), (1.0, 1e-320), (1.0, 1e-306)]
    )
    def test_budgets_beyond_all_reason_are_refused(self, method, accounting, epsilon, delta):
        with pytest.raises(CalibrationError, match="epsilon="):
            model(method=method, accounting=accounting, epsilon=epsilon, delta=delta).fit(*rows())

    @pytest.mark.parametrize("method", ALGORITHMS)
    @pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 0.5), (1e-30, 0.9), (1e9, 1e-6), (1.0, 1e-303)])
    def test_budgets_up_to_there_are_planned_for(self, method, epsilon, delta):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plan = algorithm(method).plan(PrivacyBudget(epsilon, delta), n_rows=30, n_features=3)
        assert planned_epsilon(plan, delta) <= epsilon * (1.0 + 1e-9)

    @pytest.mark.usefixtures("no_bits")
    @pytest.mark.parametrize("arithmetic", ["float", "exact"])
    @pytest.mark.parametrize("method", ["ihm", "linmix"])
    @pytest.mark.parametrize(("epsilon", "delta"), [(1e3, 1e-6), (1e3, 0.08)])
    def test_a_plan_that_replaced_rows_make_too_dear_is_refused(self, method, arithmetic, epsilon, delta):
        with pytest.raises(BudgetExceeded, match="nothing was released"):
            model(
                method=method,
                arithmetic=arithmetic,
                epsilon=epsilon,
                delta=delta,
                neighbours="replace-one",
                accounting="paper",
            ).fit(*rows())

    @pytest.mark.usefixtures("no_bits")
    def test_a_plan_without_a_proof_is_refused(self):
        with pytest.raises(BudgetExceeded, match="proved"):
            model(arithmetic="exact", method="linmix", epsilon=1e9, delta=0.5).fit(*rows())


class TestExtremeSketches:
    """Whatever is asked of a sketch, the answer comes soon."""

    def sketch(self, **changes):
        settings = {"bounds": Bounds(x_norm=1.0), "epsilon": 1.0, "delta": 1e-6, "rows": 3, "random_state": 0}
        return release_sketch(rows()[0], **(settings | changes))

    @pytest.mark.usefixtures("no_bits")
    @pytest.mark.parametrize("eigenvalue", ["off", "on"])
    @pytest.mark.parametrize(("epsilon", "delta"), [(1e-320, 1e-320), (1e-320, 1e-300), (1e308, 0.5)])
    def test_budgets_beyond_all_reason_are_refused(self, epsilon, delta, eigenvalue):
        with pytest.raises(CalibrationError, match="epsilon="):
            self.sketch(epsilon=epsilon, delta=delta, eigenvalue=eigenvalue)

    @pytest.mark.usefixtures("no_bits")
    @pytest.mark.parametrize("count", [10**9, TOO_LARGE])
    def test_more_rows_than_memory_holds_are_refused(self, count):
        with pytest.raises(ParameterError, match="rows="):
            self.sketch(rows=count)


OPTIONS = [
    ("ihm", {"residual_bound": 1e300}),
    ("ihm", {"residual_bound": 1e-300}),
    ("ihm", {"n_iterations": 1e300}),
    ("ihm", {"n_iterations": 10**7}),
    ("ihm", {"sketch_size": 1e300}),
    ("ihm", {"sketch_size": TOO_LARGE}),
    ("linmix", {"sketch_size": 10**10}),
    ("dp-gd", {"n_iterations": 1e300}),
    ("dp-gd", {"learning_rate": 1e300}),
    ("whitened", {"n_iterations": 1e300}),
    ("boosted-adassp", {"n_iterations": 1e300}),
    ("ihm-adaptive", {"max_iterations": 1e300}),
]


@pytest.mark.usefixtures("no_bits")
@pytest.mark.parametrize(("method", "options"), OPTIONS, ids=str)
def test_options_beyond_all_reason_are_refused_by_name(method, options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        model(method=method, options=options).fit(*rows())


def test_a_tiny_failure_probability_is_refused():
    with pytest.raises(CalibrationError, match="failure_probability"):
        model(method="ihm", options={"failure_probability": 1e-320}).fit(*rows())


@pytest.mark.filterwarnings("error")
def test_a_noisy_matrix_without_a_positive_part_is_no_reason_to_warn():
    X, y = rows(1, 1)
    for seed in range(8):
        model(method="whitened", epsilon=0.01, delta=1e-12, fit_intercept=False, random_state=seed).fit(X, y)


@pytest.mark.extras
class TestBoundsFiles:
    """Bounds files, and the templates that they are made from."""

    @pytest.fixture(autouse=True)
    def _needs(self):
        pytest.importorskip("typer")

    def read(self, tmp_path, high):
        from dpols.cli.bounds_file import read_bounds

        (tmp_path / "bounds.toml").write_text(f"[target]\nlow = 0\nhigh = {high}\n[features.a]\nlow = 0\nhigh = 1\n")
        return read_bounds(tmp_path / "bounds.toml")

    @pytest.mark.parametrize(
        "high",
        [
            "9" * 5000,
            "0x" + "f" * 5000,
            "0x" + "f" * 300,
            "[" * 5000,
            "{a." + "a." * 3000 + "a = 1}",
            "[0x" + "f" * 5000 + "]",
        ],
        ids=["digits", "hexadecimal digits", "beyond doubles", "lists in lists", "tables in tables", "list of digits"],
    )
    def test_limits_too_long_or_too_deep_are_refused(self, high, tmp_path):
        with pytest.raises(BoundsError, match=r"bounds\.toml"):
            self.read(tmp_path, high)

    @pytest.mark.parametrize("table", ["weight", "exposure"])
    def test_so_are_those_of_weights_and_exposures(self, table, tmp_path):
        from dpols.cli.bounds_file import declared_beside
        from dpols.feature_map.toml import declared_exposure, declared_weight

        low = "low = 1\n" if table == "exposure" else ""
        (tmp_path / "bounds.toml").write_text(f"[{table}]\nname = 'w'\n{low}high = {'9' * 400}\n")
        with pytest.raises(BoundsError, match=rf"bounds\.toml.*\[{table}\] has a whole number beyond the range"):
            declared_beside(tmp_path / "bounds.toml", declared_weight if table == "weight" else declared_exposure)

    def test_a_template_is_toml_whatever_the_columns_are_called(self):
        import tomllib

        from dpols.cli.bounds_file import bounds_template

        names = ["\x7f", "a\x7fb", "\x00", "\t", "\n", "\\", '"', "", "ä\u0085", "."]
        for target in names:
            columns = dict.fromkeys(names) | {"\x7ftext": "str\x7fing"}
            found = tomllib.loads(bounds_template(columns, target))
            assert list(found["features"]) == [name for name in columns if name != target]


@pytest.mark.extras
class TestFiles:
    """Files of tables."""

    @pytest.fixture(autouse=True)
    def _needs(self):
        pytest.importorskip("pyarrow")

    def passes(self, path, target=None):
        names = list(column_types(path))
        return read(path, target=names[-1] if target is None else target).total(lambda X, y: (X.sum(axis=0), y.sum()))

    def test_a_parquet_file_with_a_damaged_footer_is_refused(self, tmp_path):
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"a": [1, 2], "b": [3, 4]}), tmp_path / "whole.parquet")
        whole = (tmp_path / "whole.parquet").read_bytes()
        for place in range(len(whole) - 200, len(whole) - 8, 3):
            path = tmp_path / f"{place}.parquet"
            path.write_bytes(whole[:place] + b"\xff" * 5 + whole[place + 5 :])
            with contextlib.suppress(DataError):
                column_types(path)

    @pytest.mark.parametrize("kind", ["parquet", "arrow"])
    def test_a_column_whose_name_is_no_text_is_refused(self, kind, tmp_path):
        import pyarrow
        from pyarrow import ipc, parquet

        path = tmp_path / f"data.{kind}"
        table = pyarrow.table({"abcdefgh": [1, 2], "y": [3, 4]})
        if kind == "parquet":
            parquet.write_table(table, path, store_schema=False)
        else:
            with ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"abc\xe4efgh"))
        with pytest.raises(DataError, match="data"):
            column_types(path)

    def test_a_target_may_have_an_empty_name(self, tmp_path):
        (tmp_path / "data.csv").write_text("a,\n1,2\n3,4\n")
        assert self.passes(tmp_path / "data.csv", target="").values[1] == 6.0

    @pytest.mark.parametrize(
        "header",
        [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-140000000, 3)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 80000000)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, \"2)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}",
        ],
    )
    def test_numpy_files_whose_header_lies_are_refused_at_once(self, header, tmp_path):
        text = header.encode().ljust(117) + b"\n"
        (tmp_path / "data.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(32))
        with pytest.raises(DataError, match=r"data\.npy"):
            column_types(tmp_path / "data.npy")


@pytest.mark.parametrize("cell", ["a secret", TOO_LARGE], ids=["word", "beyond doubles"])
@pytest.mark.parametrize("kind", ["array", "list", "pandas"])
def test_predictions_for_what_is_no_number_are_refused_without_quoting_it(kind, cell):
    X, y = rows()
    fitted = model().fit(X, y)
    words = X.astype(object)
    words[3, 0] = cell
    table = {"array": lambda: words, "list": words.tolist, "pandas": lambda: frame_of(words)}[kind]()
    with pytest.raises((DataError, DataTypeError)) as refused:
        fitted.predict(table)
    assert not any(part in str(refused.value) for part in ("secret", "0000"))
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None or refused.value.__suppress_context__


def frame_of(values):
    return pytest.importorskip("pandas").DataFrame(values)


def test_a_long_rule_is_refused_at_once():

    for rule in ("1/n" + " " * 200_000 + "x", "1/n^" + "9" * 200_000, " " * 200_000):
        with pytest.raises(ParameterError, match="delta="):
            delta_from_rule(rule, 1000)


def test_json_that_reads_back_is_the_same_report(report):
    assert PrivacyReport.from_dict(json.loads(json.dumps(report))).to_dict() == report


def charge_of(**changes):
    amounts = {"gaussian": 0.001, "leak": 0.0, "epsilon": 0.0, "delta": 0.0}
    line = {"kind": "gaussian", "multiplier": 50.0, "times": 1}
    row = {"kind": "charge", "time": "now", "what": "a fit", "groups": [[line]], "charge": amounts, "whole": False}
    return row | {"about": {"columns": [["x", [0.0, 1.0]], ["y", None]], "note": "a note"}} | changes


LEDGER_ROWS = {
    "a negative charge": charge_of(charge={"gaussian": -0.5, "leak": 0.0, "epsilon": 0.0, "delta": 0.0}),
    "a charge of words": charge_of(charge={"gaussian": "mixing", "leak": 0.0, "epsilon": 0.0, "delta": 0.0}),
    "a charge beyond doubles": charge_of(charge={"gaussian": TOO_LARGE, "leak": 0.0, "epsilon": 0.0, "delta": 0.0}),
    "more releases than memory holds": charge_of(groups=[[{"kind": "gaussian", "multiplier": 50.0, "times": 10**18}]]),
    "releases of words": charge_of(groups=[["gaussian"]]),
    "a row of no known kind": charge_of(kind=["charge"]),
    "about words": charge_of(about="x"),
    "about columns without ranges": charge_of(about={"columns": [["x"]]}),
    "about a range of words": charge_of(about={"columns": [["x", ["low", "high"]]]}),
    "about a range beyond doubles": charge_of(about={"columns": [["x", [0, TOO_LARGE]]]}),
    "a note that is a number": charge_of(about={"note": 1}),
    "a cap of nothing": {"kind": "cap", "time": "now", "epsilon": 20.0, "delta": 1e-5, "multiplier": 0.0, "leak": 0.0},
    "a cap of all": {"kind": "cap", "time": "now", "epsilon": 20.0, "delta": 1e-5, "multiplier": 1e308, "leak": 0.0},
    "a leak above one": {"kind": "cap", "time": "now", "epsilon": 20.0, "delta": 1e-5, "multiplier": 0.5, "leak": 9.0},
}


@pytest.mark.parametrize("row", LEDGER_ROWS.values(), ids=LEDGER_ROWS)
def test_ledger_rows_that_nobody_wrote_are_refused_although_their_chain_holds(row, tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=10.0, delta=1e-6)
    ledger.add(GaussianRelease(50.0), what="a fit")
    Store(tmp_path / "ledger").append(lambda rows: charge_of())
    assert len(BudgetLedger(tmp_path / "ledger").entries()) == 2
    Store(tmp_path / "ledger").append(lambda rows: row)
    with pytest.raises(LedgerError, match="cannot read"):
        BudgetLedger(tmp_path / "ledger")


@pytest.mark.parametrize("field", ["low", "missing", "degree", "centre", "unknown", "drop_first", "categories"])
def test_a_number_too_long_to_be_printed_in_a_bounds_file(tmp_path, field):
    long = "0x" + 5000 * "f"
    value = f"[{long}]" if field == "categories" else long
    ends = "" if field == "low" else "low = 0\n"
    (tmp_path / "bounds.toml").write_text(
        f"[target]\nlow = 0\nhigh = 1\n[features.x]\n{ends}high = 1\n{field} = {value}\n"
    )
    with pytest.raises(BoundsError, match=r"\[features.x\] has a whole number beyond the range of doubles"):
        read_feature_map(tmp_path / "bounds.toml")


def test_a_number_too_long_to_be_printed_in_a_column():
    for name in ("high", "missing"):
        with pytest.raises(BoundsError, match="beyond the range of doubles"):
            NumericColumn(**{"low": 0.0, "high": 1.0, name: 10**5000})


def test_a_ledger_of_which_sqlite_quotes_damaged_bytes(tmp_path):
    path = tmp_path / "budget.ledger"
    BudgetLedger(path, epsilon=1.0, delta=1e-6)
    content = path.read_bytes()
    assert content.count(b"CREATE TABLE history") == 1
    path.write_bytes(content.replace(b"CREATE TABLE history", b"CREATE TABLE hi\xe9tory"))
    with pytest.raises(LedgerError, match=r"damaged|cannot be used|not a dpols ledger"):
        BudgetLedger(path).state()
