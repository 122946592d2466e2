"""Ledgers know their data: a name, columns and declared ranges, and a label for each charge."""

import pickle

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, PrivateLinearRegression, ols
from dpols.errors import BadRowsError, LedgerError, ParameterError
from dpols.ledger.words import charges_of, facts_of, to_html
from dpols.privacy import GaussianRelease

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

N = 61


def table(*names, n=N):
    return pd.DataFrame({name: np.linspace(0.0, 1.0, n) for name in names})


def fit(ledger, *names, high=1.0, target="pay", n=N, **more):
    bounds = Bounds(features=dict.fromkeys(names, (high - 1.0, high)), target=(0.0, 1.0))
    model = PrivateLinearRegression(0.1, 1e-7, bounds, ledger=ledger, **more)
    return model.fit(table(*names, target, n=n), target)


@pytest.fixture
def ledger(tmp_path):
    return BudgetLedger(tmp_path / "patients.ledger", epsilon=3.0, delta=1e-5, data="patients 2024")


def test_a_ledger_keeps_columns_and_ranges_and_no_number_of_rows(ledger):
    fit(ledger, "age", "hours")
    (entry,) = ledger.entries()
    assert entry.about.columns == (("age", (0.0, 1.0)), ("hours", (0.0, 1.0)), ("pay", (0.0, 1.0)))
    assert str(N) not in str(entry.about.to_data())
    facts = dict(facts_of(ledger.state(), ledger.head()))
    assert facts["data"] == "patients 2024"
    assert facts["columns"] == "age [0, 1], hours [0, 1], pay [0, 1]"


def test_fits_on_some_of_the_columns_and_on_more_are_charged(ledger):
    fit(ledger, "age", "hours")
    fit(ledger, "age", "height")
    fit(ledger, "height", high=1.5, target="weight")  # ranges that overlap
    assert len(ledger.entries()) == 3


def test_a_table_without_a_known_column_is_refused_until_it_is_confirmed(ledger):
    fit(ledger, "age")
    with pytest.raises(LedgerError, match=r"none of its columns 'price', 'sold' is among 'age', 'pay'"):
        fit(ledger, "price", target="sold")
    assert len(ledger.entries()) == 1
    fit(ledger.noted(same_data=True), "price", target="sold")
    fit(ledger, "price", target="sold")  # known from now on


def test_a_range_that_does_not_overlap_is_refused_until_it_is_confirmed(ledger):
    fit(ledger, "age")
    with pytest.raises(LedgerError, match=r"its range of 'age', \[8, 9\], does not overlap \[0, 1\]"):
        fit(ledger, "age", high=9.0)
    fit(ledger.noted(same_data=True), "age", high=9.0)


def test_a_transformed_target_is_known_by_its_range_in_its_own_units(ledger):
    bounds = Bounds(features={"speed": (0.0, 1.0)}, target=(300.0, 10000.0))
    for formula in ("log(price) ~ speed", "price ~ speed"):
        ols(formula, table("speed", "price"), epsilon=0.1, delta=1e-7, bounds=bounds, ledger=ledger)
    assert {entry.about.columns for entry in ledger.entries()} == {(("speed", (0.0, 1.0)), ("price", (300.0, 10000.0)))}


def test_what_is_void_is_not_known(ledger):
    broken = table("price", "sold")
    broken.loc[3, "price"] = np.nan
    model = PrivateLinearRegression(0.1, 1e-7, Bounds(features={"price": (0.0, 1.0)}, target=(0.0, 1.0)), ledger=ledger)
    with pytest.raises(BadRowsError):
        model.fit(broken, "sold")
    assert ledger.entries()[0].status == "void"
    fit(ledger, "age")


def test_notes_stay_with_a_ledger_that_is_copied_or_sent(ledger):
    noted = pickle.loads(pickle.dumps(ledger.noted("table 2")))
    fit(noted, "age")
    noted.add(GaussianRelease(90.0), what="mean age")
    assert [entry.about.note for entry in ledger.entries()] == ["table 2", "table 2"]
    assert all("note: table 2" in line[-1] for line in charges_of(ledger.state()))


def test_a_ledger_of_another_name_is_refused(ledger):
    BudgetLedger(ledger.path, data="patients 2024")
    with pytest.raises(ParameterError, match="data='staff' is not that of ledger"):
        BudgetLedger(ledger.path, data="staff")


@pytest.mark.parametrize("epsilon", [0.3, 3.0, 8.0])
def test_what_is_said_of_three_fits_is_what_they_are_charged(epsilon, tmp_path):
    ledger = BudgetLedger(tmp_path / "one", epsilon=epsilon, delta=1e-5)
    x = table("age", "pay")
    bounds = Bounds(features={"age": (0.0, 1.0)}, target=(0.0, 1.0))
    for _ in range(3):
        PrivateLinearRegression(epsilon / 3.0, 1e-5, bounds, ledger=ledger).fit(x, "pay")
    said = dict(facts_of(ledger.state(), ledger.head()))["how fits add up"]
    assert f"three of them about {ledger.state().used:.0%}" in said


def test_a_page_shows_charges_and_escapes_what_is_written_in_them(ledger):
    fit(ledger.noted("<b>table</b> 2"), "age")
    page = to_html(ledger.path, ledger.state(), ledger.head())
    assert "patients 2024" in page
    assert "&lt;b&gt;table&lt;/b&gt; 2" in page
    assert "<b>table</b>" not in page
    assert "how fits add up" in page
