"""The picture of coefficients in a report: where everything is drawn, and that it is drawn for each of them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.report.bars import Bar, HiddenBar, bar_of
from dpols.report.outcome import EstimateLine


def line(value=2.0, stderr=1.0, privacy=0.5, lower=0.0, upper=4.0):
    return EstimateLine("a", value, stderr, lower, upper, privacy)


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (20_000, 2))
    y = X @ [1.0, 0.0] + rng.uniform(-1.0, 1.0, len(X))
    bounds = Bounds(features=[(-1.0, 1.0)] * 2, target=(-2.0, 2.0))
    model = PrivateLinearRegression(2.0, 1e-6, bounds, inference=True, random_state=0).fit(X, y)
    return model.privacy_report_


def test_shares_of_the_scale_are_those_of_the_numbers():
    bar = bar_of(line())
    low, high = bar.scale
    assert [low + share * (high - low) for share in (*bar.whole, bar.centre, bar.zero)] == pytest.approx(
        [0.0, 4.0, 2.0, 0.0], abs=1e-12
    )
    assert np.diff(bar.privacy) == pytest.approx(0.5 * np.diff(bar.whole))
    assert np.mean(bar.privacy) == pytest.approx(bar.centre)


@pytest.mark.parametrize(
    ("value", "near"), [(0.0, True), (3.0, True), (-13.0, True), (100.0, False), (-1e6, False), (1e-300, True)]
)
def test_a_zero_that_is_far_off_is_left_out(value, near):
    bar = bar_of(line(value, lower=value - 2.0, upper=value + 2.0))
    assert (bar.zero is not None) == near
    drawn = (*bar.whole, *bar.privacy, bar.centre, *([] if bar.zero is None else [bar.zero]))
    assert all(0.0 < share < 1.0 for share in drawn)
    assert np.diff(bar.whole) > 0.1


@pytest.mark.parametrize("gap", [{"stderr": None}, {"privacy": None}, {"lower": None}, {"upper": 0.0}])
def test_what_has_no_interval_is_not_drawn(gap):
    assert bar_of(line(**gap)) == HiddenBar("a")
    assert isinstance(bar_of(line()), Bar)


@pytest.mark.parametrize(
    "odd",
    [
        line(stderr=0.0),
        line(privacy=-9.0),
        line(privacy=9.0),
        line(value=50.0),
        line(lower=5.0),
        line(1e308, 1e308, 1e308, -1e308, 1.7e308),
        line(1e-320, 5e-324, 5e-324, 0.0, 5e-324),
    ],
)
def test_numbers_of_a_changed_report_are_drawn_within_the_picture_or_not_at_all(odd):
    bar = bar_of(odd)
    if isinstance(bar, Bar):
        assert all(0.0 <= share <= 1.0 for share in (*bar.whole, *bar.privacy, bar.centre))
        assert bar.privacy[0] <= bar.privacy[1]


def test_a_page_has_a_picture_of_each_coefficient(report):
    page = report.to_html()
    drawn = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(drawn) == 3
    for picture, estimate in zip(drawn, report.estimates, strict=True):
        whole, privacy = (
            float(re.search(rf'class="{kind}"[^>]*?width="([\d.]+)"', picture, flags=re.DOTALL)[1])
            for kind in ("whole", "privacy")
        )
        assert privacy / whole == pytest.approx(estimate.privacy_stderr / estimate.stderr, abs=0.01)
        assert f'aria-label="{estimate.name}: ' in picture
    hidden = replace(report.estimates[0], stderr=None, lower=None, upper=None)
    page = replace(report, estimates=(hidden, *report.estimates[1:])).to_html()
    assert page.count("<svg") == 2
    assert "hidden by the noise" in page
    assert "<svg" not in report.to_markdown()


def test_a_report_says_how_well_the_fit_does(report):
    (said,) = (note for note in report.estimate_notes if "R-squared" in note)
    assert re.search(r"R-squared 0\.\d+, 95% interval \[0\.\d+, 0\.\d+\]; residual variance 0\.\d+", said)
    for text in (report.to_html(), " ".join(report.to_text().split())):
        assert said in text
