"""Residuals that a fit pays for: they are those of the rows, cost what is recorded, and are shown everywhere."""

import re

import numpy as np
import pytest
from inference_problems import fitted, table

from dpols import Bounds, PrivateLinearRegression
from dpols.errors import ParameterError
from dpols.report import PrivacyReport
from dpols.report.residuals import ResidualBin, SizeBin, residual_picture, shares_of_sizes

BOUNDS = Bounds(features=[(-1.0, 1.0)] * 2, target=(-2.0, 4.0))
PAID = {"residual_plot": True}


def bent(n=20_000, *, seed=0):
    """Rows whose target has a square that the model leaves out."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, 1.0 + X @ [0.6, -0.4] + 0.8 * X[:, 0] ** 2 + 0.1 * rng.standard_normal(n)


def model_of(X, y, epsilon=2.0, **given):
    given = {"inference": True, "options": PAID, "random_state": 3, **given}
    return PrivateLinearRegression(epsilon, 1e-6, BOUNDS, **given).fit(X, y)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_means_are_those_of_the_rows_and_show_the_bend(arithmetic):
    X, y = bent()
    model = model_of(X, y, arithmetic=arithmetic)
    bins, predicted = model.privacy_report_.residual_bins, X @ model.coef_ + model.intercept_
    inside = 0
    for each in bins:
        low, high = (-np.inf if each.low is None else each.low), (np.inf if each.high is None else each.high)
        here = (predicted > low) & (predicted <= high)
        assert abs(each.rows - here.sum()) < 5.0 * 40.0
        inside += each.lower <= (y - predicted)[here].mean() <= each.upper
    assert inside >= len(bins) - 1
    assert bins[0].low is None
    assert bins[-1].high is None
    means = [each.mean for each in bins]
    assert min(means[1], means[-2]) > 0.1 > -0.05 > max(means[4:6])


def test_what_is_drawn_for_residuals_is_recorded_and_within_the_budget():
    X, y = bent(2000)
    with_residuals, without = model_of(X, y), model_of(X, y, options=None)
    lines = [line.what for line in with_residuals.privacy_report_.lines]
    assert lines[-1] == "numbers of rows and sums of residuals, by fitted value"
    assert lines[:-1] == [line.what for line in without.privacy_report_.lines]
    assert 1.99 < with_residuals.privacy_report_.spent_epsilon <= 2.0
    assert without.privacy_report_.residual_bins == without.privacy_report_.residual_sizes == ()


def test_limits_cover_over_repeated_fits():
    X, y = bent(3000)
    covered = []
    for seed in range(25):
        model = model_of(X, y, random_state=seed, arithmetic="float")
        predicted = X @ model.coef_ + model.intercept_
        for each in model.privacy_report_.residual_bins:
            if each.mean is None:
                continue
            low, high = (-np.inf if each.low is None else each.low), (np.inf if each.high is None else each.high)
            here = (predicted > low) & (predicted <= high)
            truth = 1.0 + X @ [0.6, -0.4] + 0.8 * X[:, 0] ** 2 - predicted
            covered.append(each.lower <= truth[here].mean() <= each.upper)
    assert len(covered) > 150
    assert 0.9 <= np.mean(covered) <= 1.0


def test_where_there_are_few_rows_the_noise_hides_the_mean():
    bins = model_of(*bent(400), epsilon=0.5).privacy_report_.residual_bins
    hidden = [each for each in bins if each.mean is None]
    assert hidden
    assert hidden[0].describe()[2] == "hidden by the noise"


def test_units_of_several_rows_count_their_rows():
    X, y = bent()
    ids = np.repeat(np.arange(len(X) // 4), 4)
    model = PrivateLinearRegression(
        5.0, 1e-6, BOUNDS, inference=True, options=PAID, max_rows_per_unit=4, random_state=0
    ).fit(X, y, groups=ids)
    rows = sum(each.rows for each in model.privacy_report_.residual_bins)
    assert rows == pytest.approx(len(X), rel=0.05)
    assert sum(each.rows for each in model.privacy_report_.residual_sizes) == pytest.approx(len(X), rel=0.05)


def test_sizes_are_about_those_of_the_rows():
    X, y = bent()
    model = model_of(X, y)
    sizes = np.abs(y - X @ model.coef_ - model.intercept_)
    bins = model.privacy_report_.residual_sizes
    for edge in (0.1, 0.3, 0.6):
        upper = min((each.high for each in bins if each.high is not None), key=lambda high: abs(high - edge))
        counted = sum(each.rows for each in bins if each.high is not None and each.high <= upper)
        assert counted / len(X) == pytest.approx((sizes <= upper).mean(), abs=0.1)
    shares = shares_of_sizes(bins)
    assert len(shares) >= 5
    assert sum(share for _, share in shares) == pytest.approx(1.0)


def test_report_text_markdown_and_page_show_them(tmp_path):
    model = model_of(*bent())
    report = model.privacy_report_
    assert PrivacyReport.from_dict(report.to_dict()) == report
    model.save(tmp_path / "model.json")
    assert PrivateLinearRegression.load(tmp_path / "model.json").privacy_report_ == report
    assert "Mean residuals by fitted value" in report.to_text()
    middle = report.residual_bins[4].describe()
    for text in (report.to_text(), report.to_html()):
        assert middle[0] in text
        assert middle[2] in text
    assert "## Residuals" in report.to_markdown()
    assert "share of the rows" in report.to_markdown()
    page = report.to_html()
    drawn = re.search(r'<div class="scatter">.*?</svg>', page, re.DOTALL).group()
    assert drawn.count('class="whole"') == len([each for each in report.residual_bins if each.mean is not None])
    assert drawn.count('class="zero"') == 1
    numbers = [float(number) for number in re.findall(r'(?:x|y|x1|y1|width|height)="([-\d.]+)"', drawn)]
    assert 0.0 <= min(numbers) <= max(numbers) <= 100.0
    plain = model_of(*bent(2000), options=None).privacy_report_
    assert "<h2>Residuals</h2>" in page
    assert "<h2>Residuals</h2>" not in plain.to_html()


def test_bins_that_cannot_be_drawn_are_not():
    assert residual_picture([]) is None
    hidden = ResidualBin(0.0, 1.0, 3.0, None, None, None)
    assert residual_picture([hidden] * 4) is None
    assert shares_of_sizes([]) == ()
    assert shares_of_sizes([SizeBin(0.0, 1.0, 2.0, 5.0)]) == ()
    seen = ResidualBin(1.0, 2.0, 300.0, 0.5, 0.25, 0.75)
    ends = [ResidualBin(None, 1.0, 3.0, *[None] * 3), ResidualBin(2.0, None, 9.0, *[None] * 3)]
    picture = residual_picture([ends[0], seen, ends[1]])
    (mark,) = picture.marks
    assert (mark.left, mark.right) == (0.0, 1.0)
    assert picture.fitted == (1.0, 2.0)
    assert mark.mean == pytest.approx(picture.zero + 0.5 / (picture.residuals[1] - picture.residuals[0]))


@pytest.mark.extras
def test_pictures_are_drawn_on_axes():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    model = model_of(*bent())
    ax = Figure().subplots()
    assert model.plot_residuals(ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("fitted value", "mean residual, 95% interval")
    assert len(ax.containers) == len(model.privacy_report_.residual_bins)
    ax = Figure().subplots()
    model.plot_residual_sizes(ax=ax)
    assert len(ax.patches) == len(shares_of_sizes(model.privacy_report_.residual_sizes))
    unpaid = fitted(*table(2000))
    for draw in (unpaid.plot_residuals, unpaid.plot_residual_sizes):
        with pytest.raises(ParameterError, match=r'options=\{"residual_plot": True\}, which takes 3% of the squared'):
            draw()
