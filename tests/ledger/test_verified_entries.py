"""A report is charged to a ledger only if the entry that it names is there, counts, and has its releases."""

from dataclasses import replace

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, PrivateLinearRegression
from dpols.privacy import GaussianRelease
from dpols.report.basis import digest_of
from dpols.verification import verify_file, verify_report

BOUNDS = Bounds(x_norm=1.0, y_abs=1.0)


@pytest.fixture
def ledger(tmp_path):
    return BudgetLedger(tmp_path / "ledger", epsilon=5.0, delta=1e-4)


@pytest.fixture
def report(ledger):
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    model = PrivateLinearRegression(0.5, 1e-6, BOUNDS, method="adassp", ledger=ledger)
    return model.fit(X, X[:, 0]).privacy_report_


def charged(report, ledger, entry=None):
    """Whether a report is found to be charged, were the entry that it names another one."""
    data = report.to_dict() | ({} if entry is None else {"ledger_entry": entry.identity})
    (finding,) = (each for each in verify_report(data, ledger=ledger) if each.what == "charged to the ledger")
    return finding.holds


def test_the_entry_of_the_fit_pays_for_it(report, ledger):
    assert charged(report, ledger)


def test_an_entry_pays_for_the_report_whose_hash_it_keeps(report, ledger):
    entry = ledger.reserve([report.releases], what=ledger.entries()[0].what)
    assert not charged(report, ledger, entry)
    named = replace(report, ledger_entry=entry.identity)
    ledger.settle(entry, report=named.digest)
    assert charged(named, ledger)


CHANGES = {
    "what is assumed": {"assumed_public": ("the number of rows, and nothing else: every person is protected",)},
    "the verdict": {"verdict": "certified by an authority"},
    "the bounds": {"bounds": (("x0", "[-9, 9]"),)},
    "the advice": {"advice": ("none",)},
    "the number of rows": {"n_rows": 10**9, "rows_used": 10**9},
    "the accounting": {"accounting": "paper"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_was_changed_in_report_and_page_alike_is_found_by_the_ledger(change, report, ledger, tmp_path):
    changed = replace(report, **change)
    page = tmp_path / "report.html"
    page.write_text(changed.to_html(), encoding="utf-8")
    assert all(finding.holds for finding in verify_file(page))
    assert [finding.what for finding in verify_file(page, ledger=ledger) if not finding.holds] == [
        "charged to the ledger"
    ]


def test_a_changed_coefficient_is_found_by_the_ledger(report, ledger):
    first, *others = report.coefficients
    assert not charged(replace(report, coefficients=(replace(first, value=first.value + 1.0), *others)), ledger)


def test_an_entry_that_is_not_of_such_a_fit_does_not_pay(report, ledger):
    assert not charged(report, ledger, ledger.reserve([report.releases], what="the same releases"))


@pytest.mark.parametrize(
    "change", [{"unit": "family"}, {"unit": None}, {"rows_per_unit": 9}, {"unit": None, "rows_per_unit": 1}]
)
def test_the_unit_of_a_report_is_that_of_its_entry(change, ledger):
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    model = PrivateLinearRegression(0.5, 1e-6, BOUNDS, method="adassp", ledger=ledger, max_rows_per_unit=3)
    report = model.fit(X, X[:, 0], groups=np.arange(60) // 3).privacy_report_
    assert charged(report, ledger)
    assert not charged(replace(report, **change), ledger)


def test_a_report_of_rows_does_not_become_one_of_units(report, ledger):
    assert not charged(replace(report, unit="person"), ledger)


def of_another_version(report, ledger):
    """A report and its entry in the words of another version."""
    entry = ledger.reserve([report.releases], what="a fit, as version 7 says it")
    found = replace(report, ledger_entry=entry.identity, versions=(("dpols", "7.0.0"),))
    ledger.settle(entry, report=found.digest)
    return found.to_dict()


def finding_on_the_charge(data, ledger):
    (finding,) = (each for each in verify_report(data, ledger=ledger) if each.what == "charged to the ledger")
    return finding.holds, finding.about


def test_an_entry_in_the_words_of_another_version_cannot_be_checked(report, ledger):
    assert finding_on_the_charge(of_another_version(report, ledger), ledger) == (False, "unchecked")


@pytest.mark.parametrize("change", [{"unit": "person"}, {"verdict": "approved"}, {"relation": "replace-one"}])
def test_that_another_version_wrote_a_report_excuses_no_change(change, report, ledger):
    data = report.to_dict() | {"versions": [["dpols", "7.0.0"]]}
    assert finding_on_the_charge(data | change, ledger) == (False, "accounting")
    assert finding_on_the_charge(of_another_version(report, ledger) | change, ledger) == (False, "accounting")


@pytest.mark.parametrize("change", [{}, {"verdict": "approved"}, {"ledger_entry": None}, {"ledger_entry": ["1"]}])
def test_a_report_that_this_version_cannot_read_is_found_by_its_hash(change, report, ledger):
    entry = ledger.reserve([report.releases], what="a fit")
    data = report.to_dict() | {"versions": [["dpols", "7.0.0"]], "ledger_entry": entry.identity, "bad_rows": "mend"}
    ledger.settle(entry, report=digest_of(data))
    assert finding_on_the_charge(data | change, ledger) == (not change, "accounting")


def test_an_entry_of_other_releases_does_not_pay(report, ledger):
    assert not charged(report, ledger, ledger.add(GaussianRelease(50.0), what="mean"))


def test_an_entry_of_another_ledger_does_not_pay(report, ledger, tmp_path):
    assert not charged(report, BudgetLedger(tmp_path / "other", epsilon=5.0, delta=1e-4))
