"""What a summary shows: text of 80 columns, HTML without markup of names, a frame, and reasons."""

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from inference_problems import BOUNDS, Known, fitted, frame, table

from dpols import Bounds, FeatureMap, NumericColumn, PaidBounds, PrivateLinearRegression
from dpols.inference import Estimate
from dpols.inference.summary import summarise

LONG = "a very long name of a column with <b>markup</b> & more than twenty letters"


def test_text_fits_80_columns_and_shows_every_coefficient():
    X, y = table()
    text = str(fitted(X, y).summary())
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    for name in ("x0", "x1", "intercept", "coef", "std err", "[0.025", "0.975]", "R-squared", "Residual variance"):
        assert name in text
    assert "NOT PRIVATE" in text  # seeded
    assert all(line == line.rstrip() for line in lines)


def test_numbers_are_those_of_the_intervals():
    X, y = table()
    model = fitted(X, y)
    summary, limits = model.summary(0.1, target="data"), model.conf_int(0.1, target="data")
    np.testing.assert_allclose([(row.lower, row.upper) for row in summary.rows], limits)
    np.testing.assert_allclose([row.value for row in summary.rows], model.inference_.estimate)
    assert summary.columns[-2:] == ("[0.05", "0.95]")
    assert "these very rows" in " ".join(str(summary).split())
    assert "population" in " ".join(str(model.summary()).split())


def test_intervals_by_found_bounds_come_with_a_caution():
    X, y = table(20_000)
    known = Bounds(list(BOUNDS.features.values()), BOUNDS.target)
    for bounds, word in ((PaidBounds(), "found"), (known, "declared")):
        model = fitted(X, y, bounds=bounds)
        notes, report = model.summary().notes, model.privacy_report_
        assert any(f"clipped to the {word} bounds" in note for note in notes)
        places = notes[0], report.estimate_notes[0], report.to_text(), report.to_html(), report.to_markdown()
        assert [("the fit found its own bounds" in " ".join(p.split())) for p in places] == [word == "found"] * 5
    assert "found bounds" not in str(fitted(X, y, bounds=PaidBounds(), inference=False).summary())


def test_without_inference_it_says_how_to_ask():
    X, y = table(500)
    model = fitted(X, y, inference=False)
    summary = model.summary()
    assert "inference=True" in str(summary)
    assert [row.value for row in summary.rows] == pytest.approx([*model.coef_, model.intercept_])
    assert all(row.lower is None for row in summary.rows)


@pytest.mark.extras
def test_names_are_shown_whole_and_escaped_in_html_and_cut_in_text():
    people = frame().rename(columns={"age": LONG})
    bounds = Bounds(features={LONG: (18, 90), "hours": (0, 60)}, target=(0, 100))
    model = PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=bounds, inference=True).fit(people, "pay")
    summary = model.summary()
    assert "&lt;b&gt;markup&lt;/b&gt; &amp; more" in summary.as_html()
    assert "<b>" not in summary.as_html()
    assert summary._repr_html_() == summary.as_html()
    assert 'name="viewport"' in summary.to_page()
    assert max(map(len, str(summary).splitlines())) <= 80
    assert "NOT PRIVATE" not in str(summary)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::dpols.errors.NotPrivateWarning")
def test_bounds_from_the_data_are_said_not_to_be_private():
    bounds = Bounds.from_data(frame(), target="pay", unsafe_from_data=True)
    summary = PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=bounds).fit(frame(), "pay").summary()
    assert "NOT PRIVATE: the bounds were read from the data" in str(summary)
    assert "NOT PRIVATE" in summary.as_html()


@pytest.mark.extras
def test_the_frame_has_a_row_for_each_coefficient():
    model = PrivateLinearRegression(
        epsilon=3.0, delta=1e-6, bounds=Bounds({"age": (18, 90), "hours": (0, 60)}, (0, 100)), inference=True
    ).fit(frame(), "pay")
    shown = model.summary().to_frame()
    assert list(shown.index) == ["age", "hours", "intercept"]
    assert list(shown.columns) == ["coef", "std err", "privacy", "t", "P>|t|", "[0.025", "0.975]"]
    np.testing.assert_allclose(shown[["[0.025", "0.975]"]], model.conf_int())
    assert np.isnan(model.summary().to_frame().to_numpy()).sum() == 0


def test_plain_data_is_json():
    X, y = table()
    data = json.loads(json.dumps(fitted(X, y).summary().to_dict(), allow_nan=False))
    assert [row["name"] for row in data["coefficients"]] == ["x0", "x1", "intercept"]
    assert data["alpha"] == 0.05


def test_powers_without_an_interval_come_with_advice_to_centre_them():
    rng = np.random.default_rng(0)
    age = rng.uniform(18, 90, 5000)
    cost = np.clip(500 + 100 * age + rng.normal(0, 1000, 5000), 0, 25_000)
    advice = "age^2 goes nearly along with age: centre it at a public number"
    for term, has in ((("age", "age"), True), ("other", False)):
        columns = {"age": NumericColumn(18, 90), "other": NumericColumn(18, 90)}
        feature_map = FeatureMap(columns, terms=["age", term], target=(0, 25_000))
        model = PrivateLinearRegression(
            epsilon=0.05, delta=1e-6, feature_map=feature_map, inference=True, random_state=0
        ).fit(np.column_stack((age, age)), cost)
        assert "No interval" in str(model.summary())
        assert (advice in " ".join(str(model.summary()).split())) == has
        assert (advice in " ".join(str(model.privacy_report_).split())) == has


@pytest.mark.filterwarnings("ignore::dpols.errors.InferenceWarning")
@pytest.mark.parametrize(("width", "hidden"), [(4.0, False), (400.0, True)])
def test_where_the_noise_hides_r_squared_alone_it_is_said_why_and_what_helps(width, hidden):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 1))
    bounds = Bounds([(-1, 1)], (-width, width))
    y = X[:, 0] + rng.normal(0.0, 0.5, 20_000)
    model = PrivateLinearRegression(3.0, 1e-6, bounds, inference=True, random_state=0).fit(X, y)
    assert not np.isnan(model.inference_.standard_errors()).any()
    said = "R-squared is hidden by the noise, even where coefficients"
    remedy = "use a tighter target range, more rows or a larger epsilon"
    for text in (str(model.summary()), str(model.privacy_report_), model.privacy_report_.to_html()):
        for words in (said, remedy):
            assert (words in " ".join(text.split())) == hidden


def summary_of(inference, **described):
    """The summary of a fit whose inference is replaced by a made-up one."""
    model = fitted(*table(500))
    return summarise(replace(model.privacy_report_, **described), inference)


@dataclass(frozen=True)
class Whole(Known):
    """An inference with what a summary needs of the fit as a whole."""

    squared: tuple[float, float, float] = (0.5, 0.4, 0.6)
    variance: tuple[float, float] = (4.0, 0.5)
    n_rows: int | None = 500
    rows_told: float = 480.0
    rows_noise: float = 12.0
    cov_type: str = "nonrobust"
    family: str = "gaussian"
    assumptions: tuple[str, ...] = ("Assumed: large residuals are rare.",)

    @property
    def residual_variance(self):
        return Estimate(*self.variance)

    def r_squared(self, alpha=0.05):
        return self.squared

    def why_empty(self, target="population"):
        return ()

    def p_values(self, target="population"):
        return np.where(np.isnan(self.standard_errors()), np.nan, 0.04)

    def conf_int(self, alpha=0.05, *, target="population"):
        errors = self.standard_errors(target)
        return np.column_stack((self.estimate - errors, self.estimate + errors))


def whole(**more):
    return Whole(np.array([2.0, -30.0, 1e6]), np.eye(3), (1.0, 0.0), **more)


def test_a_hidden_coefficient_has_words_in_place_of_numbers():
    summary = summary_of(whole(hidden=("a",)))
    (line,) = (line for line in str(summary).splitlines() if line.startswith("a "))
    assert line.split() == ["a", "hidden", "by", "the", "noise"]
    assert '<td class="words" colspan="7">hidden by the noise</td>' in summary.as_html()
    assert r"a & \multicolumn{7}{c}{hidden by the noise} \\" in summary.as_latex()
    assert [row.hidden for row in summary.rows] == [True, False, False]
    assert summary.to_dict()["coefficients"][0]["hidden"] is True
    assert "F-statistic        hidden by the noise" in str(summary)


@pytest.mark.extras
def test_hidden_values_are_nan_in_frames():
    pytest.importorskip("pandas")
    shown = summary_of(whole(hidden=("a",))).to_frame()
    assert shown.loc["a"].isna().all()
    assert shown.loc[["b", "intercept"]].notna().all(axis=None)
    assert shown.loc["b", "t"] == pytest.approx(-30.0 / np.sqrt(2.0))


def test_what_is_missing_for_another_reason_than_noise_is_not_said_to_be_hidden():
    for reason, said in (("rows of one unit are not independent", "none; "), ("noise hides it", "hidden by the noise")):
        facts = dict(summary_of(whole(reasons=(reason,))).facts)
        assert facts["Std errors"].startswith(said)
        assert facts["F-statistic"].startswith(said)


@pytest.mark.parametrize(
    ("more", "hidden"),
    [
        ({}, 0),
        ({"squared": (1.0, 0.0, 1.0)}, 2),
        ({"squared": None}, 2),
        ({"variance": (0.0, 1.0)}, 3),
        ({"variance": (-2.0, 1.0)}, 3),
        ({"variance": (None, None)}, 3),
    ],
)
def test_what_the_noise_hides_of_the_whole_fit_is_said(more, hidden):
    facts = dict(summary_of(whole(**more)).facts)
    shown = [facts[name] for name in ("R-squared", "Adj. R-squared", "Residual variance")]
    assert shown.count("hidden by the noise") == hidden
    if not hidden:
        assert facts["R-squared"] == "0.5, 95% interval [0.4, 0.6]"
        assert facts["Adj. R-squared"].startswith(f"{1 - 0.5 * 479 / 477:.4g}, ")


def test_noise_does_not_make_more_rows_than_there_are():
    model = fitted(*table(500))
    inference = replace(model.inference_, rows_used=511.0, rows_noise=12.0)
    said = " ".join(str(summarise(model.privacy_report_, inference)).split())
    assert "Rows 500, of which about 500 are used" in said


def test_a_summary_names_what_was_fitted():
    levels = (("region", "north"), ("sex", "f"))
    described = {"target_name": "pay", "formula": "pay ~ a + b", "reference_levels": levels, "date": "2026-01-31"}
    text = str(summary_of(whole(), **described, unit="patient", rows_per_unit=4))
    said = " ".join(text.split())
    for words in (
        "Dep. variable pay",
        "Formula pay ~ a + b",
        "Reference north (of region), f (of sex)",
        "Date 2026-01-31",
        "Protects all rows of one patient together, of which at most 4 are used",
        "Rows 500, of which about 480 are used (a count with noise of standard deviation 12); 3 coefficients",
        "Assumed rows are independent",
        "F-statistic",
        "4 P values are shown here",
        "up to 20%",
    ):
        assert words in said
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[-1]


def test_a_number_of_rows_that_is_counted_with_noise_is_said_once():
    facts = dict(summary_of(whole(n_rows=None), n_rows=480, n_rows_noise=12.0).facts)
    assert facts["Rows"] == "about 480 (counted with noise of standard deviation 12); 3 coefficients"


@pytest.mark.parametrize("name", ["language[French]", "language[Filipino]"])
def test_a_name_stands_beside_its_numbers_where_80_columns_allow(name):
    lines = str(summary_of(whole(names=(name, "b", "intercept")))).splitlines()
    assert max(map(len, lines)) <= 80
    (line,) = (line for line in lines if line.startswith(name))
    assert len(line.split()) == 8
    (head,) = (line for line in lines if line.split()[:3] == ["coef", "std", "err"])
    assert len(line) == len(head)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9, 1e150])
def test_numbers_of_any_size_stand_apart_and_within_80_columns(scale):
    inference = Whole(scale * np.array([-1.23456, 12345.678, -9.87654e6]), scale**2 * np.eye(3), (scale**2, 0.0))
    lines = str(summary_of(inference)).splitlines()
    assert max(map(len, lines)) <= 80
    for name in ("a", "b", "intercept"):
        (line,) = (line for line in lines if line.startswith(f"{name} ") and "%" not in line)
        numbers = [float(cell) for cell in line.split()[1:]]
        assert len(numbers) == 7
        assert numbers[0] == pytest.approx(inference.estimate[inference.names.index(name)], rel=0.05)


def test_names_are_never_markup_in_latex():
    wild = r"[x] $a_b$ \input{/etc/passwd} 50% & more ~ #1 ^2 {y} <z> |w|"
    text = summary_of(whole(names=(wild, "b", "intercept"))).as_latex()
    (row,) = (line for line in text.splitlines() if line.startswith("{}[x]"))
    assert r"\$a\_b\$ \textbackslash{}input\{/etc/passwd\} 50\% \& more" in row
    assert r"\input{" not in text
    assert len(re.findall(r"(?<!\\)&", row)) == 7
    assert r"$-30$" in text
    assert r"$1 \times 10^{6}$" in text


def test_advice_stands_in_the_summary_once(tmp_path):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (20_000, 2))
    bounds = Bounds(features=[(-1.0, 1.0), (-1000.0, 0.0)], target=(-1.0, 1.0))
    model = PrivateLinearRegression(1.0, 1e-6, bounds, inference=True, random_state=0).fit(X, 0.5 * X[:, 0])
    assert any("'x1' lie at the upper end" in item for item in model.privacy_report_.advice)
    text = " ".join(str(model.summary()).split())
    for item in model.privacy_report_.advice:
        assert text.count(f"Advice: {item}") == 1
    assert "another unit" in model.summary().as_html()


def test_the_number_of_rows_in_use_comes_with_its_noise():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (6_000, 2))
    bounds = Bounds(features=[(-1.0, 1.0)] * 2, target=(-1.0, 1.0))
    ids = np.repeat(np.arange(600), 10)
    counts = []
    for seed in range(20):
        model = PrivateLinearRegression(
            3.0, 1e-6, bounds, inference=True, max_rows_per_unit=4, random_state=seed, arithmetic="float"
        ).fit(X, 0.5 * X[:, 0], groups=ids)
        counts.append(model.inference_.rows_used)
    stated = model.inference_.rows_noise
    assert 0.6 * stated < np.std(counts) < 1.5 * stated
    assert abs(np.mean(counts) - 2_400) < stated
    assert f"(a count with noise of standard deviation {stated:,.0f})" in " ".join(str(model.summary()).split())


def test_the_verdict_of_a_panel_agrees_with_its_f_test():
    rng = np.random.default_rng(1)
    ids = np.repeat(np.arange(700), 8)
    X = rng.uniform(-1.0, 1.0, (5_600, 3))
    y = 0.08 * X[:, 0] + 0.03 * rng.standard_normal(700)[ids] + 0.04 * rng.standard_normal(5_600)
    bounds = Bounds(features=[(-1.0, 1.0)] * 3, target=(-1.0, 1.0))
    verdicts = []
    for signal in (1.0, 0.0):
        model = PrivateLinearRegression(
            5.0, 1e-6, bounds, inference=True, max_rows_per_unit=8, random_state=3, arithmetic="float"
        ).fit(X, y - (1.0 - signal) * 0.08 * X[:, 0], groups=ids)
        verdicts.append(model.privacy_report_.verdict)
        assert (model.f_pvalue < 1e-6) == bool(signal)
    assert verdicts[0] == "better than predicting a constant"
    assert verdicts[1] != "better than predicting a constant"
