"""Reports to hand on: everything is said, nothing is markup by accident, and the browser asks for nothing."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from dpols import Bounds, PrivacyReport, PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor
from dpols.pages import unbroken
from dpols.privacy import PrivacyBudget
from dpols.privacy.attacker import success_under


def fit(**changes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (500, 2))
    bounds = Bounds(features=[(-1.0, 1.0), (-2.0, 3.0)], target=(-4.0, 6.0))
    parameters = {"epsilon": 2.0, "delta": 1e-6, "bounds": bounds} | changes
    return PrivateLinearRegression(**parameters).fit(X, 1.0 + X @ [2.0, -1.0]).privacy_report_


class Page(HTMLParser):
    """The text that is shown, the addresses that are named, and whether every element is closed."""

    VOID = ("meta", "br", "hr", "img", "link", "input")

    def __init__(self, page):
        super().__init__()
        self.open, self.shown, self.addresses, self.data = [], [], [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "srcset", "action", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.data += data
        elif self.open and self.open[-1] != "style":
            self.shown.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.shown).split())


FACTS = (
    *("zero-out", "epsilon = 2", "delta = 1e-06", "88.08%", "sketch of X'X", "gradient X'clip(y - X theta)"),
    *("from the recorded releases", "proved in interval arithmetic", "[-2, 3]", "[-4, 6]", "intercept", "500 rows"),
    *("dpols verify report.json", "numpy", "scipy", "python-flint", "number of rows", "rounding included"),
)


def test_both_pages_say_all_that_matters():
    report = fit(method="ihm")
    page, markdown = Page(report.to_html()).text, re.sub(r"\\(.)", r"\1", report.to_markdown())
    for fact in FACTS:
        assert fact in page, fact
        assert fact in markdown, fact
    for coefficient in report.coefficients:
        assert f"{coefficient.value:.6g}" in page
        assert f"{coefficient.value:.6g}" in markdown
    for name, version in report.versions:
        assert f"{name} {version}" in page
    assert "NOT PRIVATE" not in page


def test_the_first_line_says_whether_it_is_private_how_strongly_and_for_whom():
    report = fit()
    for page in (report.to_html(), report.to_markdown(), report._repr_html_()):
        page = re.sub("<[^>]+>", "", page)
        assert page.index("Private: epsilon 2, delta 1e-06, protects single rows.") < page.index(report.verdict[1:])
    assert "**Private: epsilon 2" in report.to_markdown()
    assert "<b>Private: epsilon 2" in report.to_html()
    assert "Guarantee      private: epsilon 2, delta 1e-06, protects single rows" in report.to_text()
    assert "protects all rows of one patient together." in replace(report, unit="patient").to_markdown()
    seeded = replace(report, seeded=True)
    for page in (seeded.to_html(), seeded.to_markdown(), seeded.to_text()):
        assert "rivate: epsilon" not in page
        assert "NOT PRIVATE" in page


def test_a_page_says_how_it_is_verified_itself():
    report = fit()
    for page in (Page(report.to_html()).text, report.to_markdown()):
        assert "dpols verify report.html" in page
        assert "dpols verify report.json" in page


def test_a_seeded_fit_and_floating_point_say_so():
    report = fit(random_state=0, arithmetic="float")
    for page in (Page(report.to_html()).text, report.to_markdown()):
        assert "NOT PRIVATE" in page
        assert "real numbers" in page
        assert "not certified" in page


def test_units_and_the_origin_of_bounds_are_named():
    report = replace(fit(), unit="patient", rows_per_unit=3, bounds_origin="data", advice=("Widen nothing.",))
    for page in (Page(report.to_html()).text, report.to_markdown()):
        for words in ("all rows of one patient", "at most 3 rows", "rows of one patient are in the data"):
            assert words in page
        for words in ("NOT PRIVATE: the bounds were read", "READ FROM THE DATA", "none of this holds", "Widen nothing"):
            assert words in page


@pytest.mark.parametrize("method", ["linmix-dynamic", "ihm-adaptive"])
def test_stages_are_said_to_add_up(method):
    report = fit(method=method)
    assert report.staged
    for page in (Page(report.to_html()).text, report.to_markdown(), report.to_text()):
        assert "basic composition" in " ".join(page.split())
        assert "from the recorded releases" not in page
    assert "best attack on what was released" not in report.to_markdown()


def test_the_page_is_well_formed_and_asks_for_nothing():
    html = fit().to_html()
    page = Page(html)
    assert page.open == []
    assert page.addresses == ["data:,"]  # an empty icon
    assert not re.search(r"url\(|@import|https?://", html)
    assert html.startswith("<!doctype html>")


def test_the_page_holds_the_report_itself():
    report = fit()
    assert PrivacyReport.from_dict(json.loads(Page(report.to_html()).data)) == report


def test_names_are_never_markup():
    report = fit()
    wild = "</script><b>*a*</b> | [x](y) `c` & <img src=q>"
    named = replace(report, coefficients=(replace(report.coefficients[0], name=wild), *report.coefficients[1:]))
    page = Page(named.to_html())
    assert wild in page.text
    assert page.open == []
    assert page.addresses == ["data:,"]  # an empty icon
    assert json.loads(page.data)["coefficients"][0]["name"] == wild
    (row,) = (line for line in named.to_markdown().splitlines() if "script" in line)
    assert re.sub(r"\\(.)", r"\1", row).startswith(f"| {wild} |")
    assert len(re.findall(r"(?<!\\)\|", row)) == 4


@pytest.mark.parametrize("changes", [{}, {"neighbours": "replace-one"}, {"epsilon": 0.1}])
def test_the_best_attack_on_the_releases_is_no_better_than_what_is_promised(changes):
    report = fit(**changes)
    blind, exact, promised = re.findall(r"\| ([\d.]+)% \|", report.to_markdown())
    assert float(blind) == 50.0
    assert 50.0 < float(exact) < float(promised)
    assert float(promised) == pytest.approx(100.0 * success_under(report.asked), abs=0.01)


def test_success_has_its_limits():
    assert success_under(PrivacyBudget(1e-12, 1e-300)) == pytest.approx(0.5, abs=1e-12)
    assert success_under(PrivacyBudget(1e6, 1e-6)) == 1.0
    assert success_under(PrivacyBudget(1e-12, 0.5)) == pytest.approx(0.75, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (PrivateLogisticRegression, "the log-odds of a yes (1) change"),
        (PrivatePoissonRegressor, "the logarithm of the mean count changes"),
    ],
)
def test_a_report_says_what_slopes_are_where_they_are_no_changes_of_the_outcome(kind, said):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (500, 2))
    target = {} if kind is PrivateLogisticRegression else {"target": (0.0, 1.0)}
    bounds = Bounds(features=[(-1.0, 1.0), (-2.0, 3.0)], **target)
    report = kind(epsilon=2.0, delta=1e-6, bounds=bounds).fit(X, (X[:, 0] > 0.0).astype(int)).privacy_report_
    assert said in Page(report.to_html()).text
    assert said in report.to_markdown()
    assert "log-odds" not in Page(fit().to_html()).text


def test_no_line_ends_inside_a_number_or_a_date():
    assert unbroken("delta 1e-06 on 2026-11-18") == (
        'delta <span class="unbroken">1e-06</span> on <span class="unbroken">2026-11-18</span>'
    )
