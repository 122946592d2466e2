"""What a fit says of its privacy, in words and as data."""

import json
import math
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from dpols import Bounds, PrivacyReport, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS, StagedPlan
from dpols.errors import ArithmeticWarning, BudgetExceeded, DpolsError, ModelFileError, ParameterError
from dpols.privacy import (
    FailureAllowance,
    GaussianRelease,
    MixingRelease,
    Neighbours,
    OpaqueRelease,
    PrivacyBudget,
    epsilon_of,
)
from dpols.report import release_lines


def fit(**changes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (changes.pop("rows", 500), 2))
    residuals = changes.pop("spread", 0.0) * rng.uniform(-1.0, 1.0, len(X))
    bounds = Bounds(features=[(-1.0, 1.0), (-2.0, 3.0)], target=(-4.0, 6.0))
    parameters = {"epsilon": 2.0, "delta": 1e-6, "bounds": bounds} | changes
    return PrivateLinearRegression(**parameters).fit(X, 1.0 + X @ [2.0, -1.0] + residuals)


@pytest.mark.parametrize("accounting", ["exact", "paper"])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("method", ALGORITHMS)
def test_what_was_spent_can_be_recomputed_and_is_at_most_what_was_asked(method, accounting, neighbours):
    report = fit(method=method, accounting=accounting, neighbours=neighbours).privacy_report_
    assert report.asked == PrivacyBudget(2.0, 1e-6)
    assert report.spent_epsilon <= 2.0 * (1.0 + 1e-9)
    recomputed = epsilon_of(report.releases, 1e-6, relation=Neighbours(neighbours))
    assert recomputed <= report.spent_epsilon * (1.0 + 1e-9)
    staged = isinstance(
        ALGORITHMS[method].plan(report.asked, n_rows=500, n_features=3, accounting=accounting), StagedPlan
    )
    if not staged:
        assert recomputed == pytest.approx(report.spent_epsilon, rel=1e-9)
    assert report.relation == neighbours


def test_the_text_says_all_that_matters():
    model = fit()
    text = " ".join(str(model.privacy_report_).split())
    for part in (
        "epsilon = 2,",
        "delta = 1e-06",
        "Spent",
        "zero-out",
        "number of rows is public",
        "500 rows, 3 coefficients",
        "16 x sum of clipped gradients of whitened rows",
        "1 x X'X",
        "Gaussian noise, standard deviation",
        "[-2, 3]",
        "[-4, 6]",
        "norm of a row, intercept included",
        "Assumed public",
        "intercept",
        "privacy noise standard deviation",
        "Verdict",
        "exact",
    ):
        assert part in text, part
    for coefficient, value in zip(model.privacy_report_.coefficients, [*model.coef_, model.intercept_], strict=True):
        assert coefficient.value == value
        assert f"{value:.6g}" in text
    assert "NOT PRIVATE" not in text


def test_both_arithmetics_say_what_they_promise():
    assert "real-number model" in str(fit(arithmetic="float").privacy_report_)
    assert "real-number model" not in str(fit(arithmetic="exact").privacy_report_)
    assert fit(arithmetic="float").privacy_report_.arithmetic == "float"
    assert fit(arithmetic="auto").privacy_report_.arithmetic == "exact"


@pytest.mark.parametrize("method", ALGORITHMS)
def test_json_reads_back(method):
    report = fit(method=method).privacy_report_
    data = json.loads(report.to_json())
    assert data["private"] is True
    assert data["asked"] == {"epsilon": 2.0, "delta": 1e-6}
    assert PrivacyReport.from_dict(data) == report


def test_a_report_that_lacks_something_is_refused():
    whole = fit().privacy_report_.to_dict()
    for name in set(PrivacyReport.__dataclass_fields__):
        with pytest.raises(ModelFileError):
            PrivacyReport.from_dict({key: value for key, value in whole.items() if key != name})


def forms(report):
    plain = " ".join(report.to_text().split()), " ".join(unescape(report.to_html()).split())
    return *plain, report.to_markdown().replace("\\", ""), " ".join(report.to_dict()["cautions"])


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [
        (10.5, 1e-6, ["CAUTION: epsilon = 10.5 "]),
        (1000.0, 0.3, ["CAUTION: epsilon = 1000 ", "CAUTION: delta = 0.3 is above 1 / (number of rows) = 0.002."]),
        (1.0, 0.0021, ["CAUTION: delta = 0.0021 "]),
        (1.0, 0.0019, ["Note: delta = 0.0019 "]),
        (1.0, 0.00021, ["Note: delta = 0.00021 "]),
        (10.0, 0.00019, []),
    ],
)
def test_a_budget_that_promises_little_is_said_to_in_every_form(epsilon, delta, said):
    report = fit(epsilon=epsilon, delta=delta).privacy_report_  # on 500 rows
    assert report.private
    assert len(report.cautions) == len(said)
    for form in forms(report):
        assert form.count("CAUTION: ") + form.count("Note: delta") == len(said) * (1 + ("<script" in form))
        assert all(part in form for part in said)
    assert max(map(len, report.to_text().splitlines())) <= 100


def test_every_form_says_what_the_std_of_the_noise_is_and_is_not():
    for form in forms(fit().privacy_report_)[:3]:
        assert "covers only the noise that passes through the fit" in form
        assert "the true error can be several times larger" in form


def test_a_report_has_the_intervals_that_were_paid_for():
    model = fit(inference=True, rows=20_000, spread=1.0, random_state=0)
    report = model.privacy_report_
    limits = np.asarray(model.conf_int())
    assert [line.name for line in report.estimates] == ["x0", "x1", "intercept"]
    for line, (low, high), fitted in zip(report.estimates, limits, report.coefficients, strict=True):
        assert (line.lower, line.upper) == (low, high)
        for form in forms(report)[:3]:
            assert f"[{low:.6g}, {high:.6g}]" in form
            assert f"{fitted.value:.6g}" in form
    assert PrivacyReport.from_dict(json.loads(report.to_json())) == report
    without = fit(inference=True, epsilon=0.01, random_state=0).privacy_report_
    assert without.estimates == ()
    for form in forms(without)[:3]:
        assert "No intervals: " in form


def test_equal_releases_of_one_name_share_a_line_in_the_order_of_their_first():
    gradient, sketch = GaussianRelease(2.0), MixingRelease(10, 5.0)
    lines = release_lines(("sketch", "gradient") * 2 + ("last",), (sketch, gradient) * 2 + (GaussianRelease(2.0),))
    assert [(line.what, line.release, line.times) for line in lines] == [
        ("sketch", sketch, 2),
        ("gradient", gradient, 2),
        ("last", gradient, 1),
    ]


@pytest.mark.parametrize(
    ("release", "words"),
    [
        (GaussianRelease(2.5), "standard deviation 2.5 x sensitivity"),
        (MixingRelease(7, 3.5), "7 sketch rows, floor 3.5"),
        (FailureAllowance(1e-9), "probability 1e-09"),
        (OpaqueRelease(0.5, 1e-7), "black box of"),
    ],
)
def test_every_kind_of_release_is_described_and_reads_back(release, words):
    (line,) = release_lines(("it",), (release,))
    assert words in line.describe()


def test_a_run_that_costs_more_than_was_asked_returns_nothing(monkeypatch):
    """The last line of defence: recorded releases are accounted for again, whatever the plan says."""
    row = ALGORITHMS["whitened"]

    def generous(given, **options):
        budget = PrivacyBudget(1.01 * given.budget.epsilon, given.budget.delta)
        return row.plan_for(replace(given, budget=budget), **options)

    monkeypatch.setitem(ALGORITHMS, "whitened", replace(row, plan_for=generous))
    with pytest.raises(BudgetExceeded, match="nothing is returned") as caught:
        fit()
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("method", "count"), [("whitened", 401), ("ihm", 130)])
def test_many_coefficients_fall_back_to_floating_point_with_a_warning(method, count):
    X = np.random.default_rng(0).uniform(-0.01, 0.01, (300, count))
    model = PrivateLinearRegression(1.0, 1e-6, Bounds(x_norm=1.0, y_abs=1.0), fit_intercept=False, method=method)
    with pytest.warns(ArithmeticWarning, match=f"{count} coefficients") as warned:
        model.fit(X, X[:, 0])
    assert [warning.filename for warning in warned] == [__file__]  # the line that calls fit
    assert model.privacy_report_.arithmetic == "float"


def test_the_default_stays_exact_while_that_costs_little():
    X = np.random.default_rng(0).uniform(-0.01, 0.01, (100, 130))
    model = PrivateLinearRegression(1.0, 1e-6, Bounds(x_norm=1.0, y_abs=1.0), fit_intercept=False).fit(X, X[:, 0])
    assert model.privacy_report_.arithmetic == "exact"


def test_all_errors_of_dpols_are_errors_of_python_too():
    kinds = [DpolsError]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        assert kind is DpolsError or issubclass(kind, ValueError | TypeError | ImportError | RuntimeError), kind
    assert issubclass(ParameterError, DpolsError)


def test_a_coefficient_of_unknown_noise_is_said_to_be_so():
    report = fit(method="ihm", options={"sketch_size": 3}).privacy_report_
    assert all(c.noise_stddev is None for c in report.coefficients)
    assert "privacy noise standard deviation unknown" in str(report)
    assert json.loads(report.to_json())["coefficients"][0]["noise_stddev"] is None
    assert not math.isnan(report.coefficients[0].value)
