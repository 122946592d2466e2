"""Standard errors and intervals: what they become without noise, what they cost, and that they tell the truth."""

import json
import math

import numpy as np
import pytest
from inference_problems import BOUNDS, TRUTH, fitted, frame, least_squares, table

from dpols import Bounds, PrivateLinearRegression, ols
from dpols.algorithms import algorithm
from dpols.algorithms.base import Fit
from dpols.errors import DataError, InferenceWarning, ModelFileError, ParameterError
from dpols.inference import Estimate, Inference, infer
from dpols.linalg import inverse_under_noise
from dpols.privacy import PrivacyBudget, epsilon_of

NAMES = ("age", "hours", "intercept")


def made_up(residual=(1.0, 0.0), total=(2.0, 0.0), **more):
    """An inference of two coefficients with round numbers, and classical standard errors."""
    unscaled = np.diag([12.0, 16.0])
    parts = {
        "names": ("a", "b"),
        "n_rows": 10_000,
        "rows_used": 10_000.0,
        "rows_noise": 0.0,
        "intercept": True,
        "cov_type": "nonrobust",
        "estimate": np.array([1.0, -2.0]),
        "privacy_covariance": np.diag([4.0, 9.0]),
        "sampling_covariance": residual[0] * unscaled,
        "unscaled_covariance": unscaled,
        "spread": np.eye(2),
        "unsure_spread": np.zeros((2, 2)),
        "gram_noise": 0.0,
        "score_noise": 0.0,
        "freedom": 9_998.0,
        "residual_variance": Estimate(*residual),
        "target_variance": Estimate(*total),
        "assumptions": (),
        "reasons": (),
        "population_reasons": (),
    }
    return Inference(**(parts | more))


def robust(X, y, units=None):
    """HC1 standard errors, or CR1 of units, written out."""
    design = np.column_stack((X, np.ones(len(X))))
    n, d = design.shape
    inverse = np.linalg.inv(design.T @ design)
    scores = design * (y - design @ (inverse @ design.T @ y))[:, None]
    factor = n / (n - d)
    if units is not None:
        scores = np.array([scores[units == unit].sum(axis=0) for unit in np.unique(units)])
        factor = len(scores) / (len(scores) - 1) * (n - 1) / (n - d)
    return np.sqrt(factor * np.diag(inverse @ scores.T @ scores @ inverse))


def fan(n=4000, seed=0):
    """Errors that are proportional to the first feature's distance from its middle."""
    rng = np.random.default_rng(seed)
    X, _ = table(n, seed=seed)
    return X, X @ TRUTH[:2] + TRUTH[2] + 0.15 * (X[:, 0] - 54.0) * np.clip(rng.standard_normal(n), -2.0, 2.0)


@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no-intercept"])
def test_with_next_to_no_noise_they_are_those_of_ordinary_least_squares(intercept):
    X, y = table(2000)
    options = {"cov_type": "nonrobust"}
    model = fitted(X, y, epsilon=1e9, fit_intercept=intercept, arithmetic="float", options=options)
    solution, stderr, variance, r_squared = least_squares(X, y, intercept=intercept)
    found = model.inference_
    np.testing.assert_allclose(found.estimate, solution, rtol=1e-4)
    np.testing.assert_allclose(found.standard_errors("population"), stderr, rtol=1e-3)
    assert (found.standard_errors("data") < 0.05 * stderr).all()
    assert found.residual_variance.value == pytest.approx(variance, rel=1e-3)
    assert found.r_squared()[0] == pytest.approx(r_squared, abs=1e-4)
    assert found.names == (("x0", "x1", "intercept") if intercept else ("x0", "x1"))
    room = 1.96 * stderr
    limits = np.asarray(model.conf_int())
    np.testing.assert_allclose(limits, np.column_stack((solution - room, solution + room)), rtol=0.02)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_with_next_to_no_noise_robust_errors_are_those_of_the_sandwich(arithmetic):
    X, y = fan()
    found = fitted(X, y, epsilon=1e9, arithmetic=arithmetic).inference_
    expected, (_, classical, _, _) = robust(X, y), least_squares(X, y)
    assert found.cov_type == "HC1"
    np.testing.assert_allclose(found.standard_errors(), expected, rtol=1e-3)
    assert expected[0] > 1.2 * classical[0]
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance())), found.standard_errors())


def families(n=3000, size=3, seed=0):
    """Rows of units that share a part of their features and of their errors."""
    rng = np.random.default_rng(seed)
    units = np.repeat(np.arange(n // size), size)
    X = 0.5 * table(n, seed=seed)[0] + 0.5 * table(n, seed=seed + 1)[0][units]
    return X, X @ TRUTH[:2] + TRUTH[2] + 4.0 * rng.uniform(-1.0, 1.0, n)[units] + rng.uniform(-1.0, 1.0, n), units


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_with_next_to_no_noise_units_have_clustered_errors(arithmetic):
    X, y, units = families()
    bounds = Bounds(list(BOUNDS.features.values()), BOUNDS.target)
    order = np.random.default_rng(1).permutation(len(y))  # units need not lie together
    model = PrivateLinearRegression(1e9, 1e-6, bounds, inference=True, max_rows_per_unit=3, arithmetic=arithmetic)
    drawn = [
        model.set_params(random_state=seed).fit(X[order], y[order], groups=units[order]).inference_
        for seed in range(16)
    ]
    found, expected = drawn[0], robust(X, y, units)
    assert found.cov_type == "cluster"
    # What noise is left at the largest epsilon moves a single fit by a part in a thousand.
    np.testing.assert_allclose(np.mean([one.standard_errors() for one in drawn], axis=0), expected, rtol=1e-3)
    assert (expected > 1.3 * robust(X, y)).all()
    assert found.rows_used == pytest.approx(3000, rel=1e-6)
    assert found.residual_variance.value == pytest.approx(least_squares(X, y)[2], rel=1e-3)


@pytest.mark.parametrize("method", ["ihm", "adassp", "dp-gd"])
def test_other_methods_are_refused_with_a_remedy(method):
    X, y = table(300)
    with pytest.raises(ParameterError, match='inference goes with method="whitened"'):
        fitted(X, y, method=method)


def test_everything_that_is_shown_is_one_fit():
    X, y = table(5000)
    model = fitted(X, y, epsilon=1.0)
    found = model.inference_
    np.testing.assert_array_equal(found.estimate, [*model.coef_, model.intercept_])
    np.testing.assert_allclose(found.predict_interval(X[:5]).mean, model.predict(X[:5], raw=True))
    assert [row.value for row in model.summary().rows] == found.estimate.tolist()
    report = model.privacy_report_
    assert [line.value for line in report.estimates] == found.estimate.tolist()
    assert [line.value for line in report.coefficients] == found.estimate.tolist()


def test_rows_that_count_as_zeros_are_not_counted():
    X, y = table(20_000, seed=4)
    X[:8000, 0] = np.nan
    model = fitted(X, y, epsilon=5.0, bad_rows="zero", arithmetic="float")
    found, (_, _, variance, r_squared) = model.inference_, least_squares(X[8000:], y[8000:])
    assert found.n_rows == 20_000
    assert found.rows_used == pytest.approx(12_000, abs=100)
    assert found.residual_variance.value == pytest.approx(variance, rel=0.1)
    assert found.r_squared()[0] == pytest.approx(r_squared, abs=0.01)
    new = found.predict_interval(X[8000:10_000])
    assert np.mean((new.lower < y[8000:10_000]) & (y[8000:10_000] < new.upper)) > 0.9


def test_rows_of_units_that_are_cut_are_not_counted():
    X, y, units = families(30_000, size=10)
    bounds = Bounds(list(BOUNDS.features.values()), BOUNDS.target)
    model = PrivateLinearRegression(20.0, 1e-6, bounds, inference=True, max_rows_per_unit=4, random_state=0)
    found = model.fit(X, y, groups=units).inference_
    kept = np.arange(30_000) % 10 < 4
    _, _, variance, r_squared = least_squares(X[kept], y[kept])
    assert found.rows_used == pytest.approx(12_000, rel=0.05)
    assert found.residual_variance.value == pytest.approx(variance, rel=0.15)
    assert found.r_squared()[0] == pytest.approx(r_squared, abs=0.02)


@pytest.mark.parametrize(("units", "cov_type"), [(True, "HC1"), (False, "cluster")])
def test_a_kind_of_errors_that_does_not_go_with_the_rows_is_refused(units, cov_type):
    X, y = table(300)
    bounds = Bounds(list(BOUNDS.features.values()), BOUNDS.target)
    model = PrivateLinearRegression(
        3.0, 1e-6, bounds, inference=True, options={"cov_type": cov_type}, max_rows_per_unit=2 if units else None
    )
    with pytest.raises(ParameterError, match=f"cov_type='{cov_type}'"):
        model.fit(X, y, groups=np.arange(300) // 2 if units else None)


def test_the_range_rule_assumes_nothing_and_says_so():
    X, y = table(5000)
    tail, wide = (fitted(X, y, epsilon=1.0, options={"clip": rule}).inference_ for rule in ("tail", "range"))
    assert any("falls at least as fast" in words for words in tail.assumptions)
    assert wide.assumptions == ()
    assert wide.residual_variance.stderr > 5.0 * tail.residual_variance.stderr
    assert (wide.standard_errors("data") > 1.5 * tail.standard_errors("data")).all()


def test_a_target_of_yes_and_no_takes_the_range_rule_by_itself():
    rng = np.random.default_rng(0)
    X, _ = table(20_000)
    y = (rng.random(20_000) < 0.05 + 0.002 * (X[:, 0] - 18.0)).astype(float)
    bounds = Bounds(list(BOUNDS.features.values()), (0.0, 1.0))
    found = fitted(X, y, bounds=bounds, epsilon=3.0).inference_
    assert found.assumptions == ()
    solution = least_squares(X, y)[0]
    limits = found.conf_int(1e-4, target="data")
    assert ((limits[:, 0] < solution) & (solution < limits[:, 1])).all()


def test_predictions_without_noise_have_the_classical_intervals():
    X, y = table(2000)
    model = fitted(X, y, epsilon=1e7, arithmetic="float", options={"cov_type": "nonrobust"})
    solution, _, variance, _ = least_squares(X, y)
    design = np.column_stack((X, np.ones(len(X))))
    row = np.array([[30.0, 10.0]])
    joined = np.array([30.0, 10.0, 1.0])
    spread = variance * joined @ np.linalg.inv(design.T @ design) @ joined
    mean, observation = (model.inference_.predict_interval(row, of=of) for of in ("mean", "observation"))
    assert mean.mean[0] == pytest.approx(joined @ solution, rel=1e-4)
    assert mean.stderr[0] == pytest.approx(math.sqrt(spread), rel=0.01)
    assert observation.stderr[0] == pytest.approx(math.sqrt(spread + variance), rel=0.01)
    assert observation.upper[0] - observation.mean[0] == pytest.approx(1.96 * observation.stderr[0], rel=0.01)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize("cov_type", ["HC1", "nonrobust"])
def test_what_they_are_made_of_is_recorded_and_paid_for(cov_type, arithmetic):
    X, y = table(1000)
    report = fitted(X, y, arithmetic=arithmetic, options={"cov_type": cov_type}).privacy_report_
    plan = algorithm("whitened-inference").plan(PrivacyBudget(3.0, 1e-6), n_rows=1000, n_features=3, cov_type=cov_type)
    assert sorted(report.releases, key=str) == sorted(plan.releases, key=str)
    names = [line.what for line in report.lines]
    assert ("outer products of whitened gradients" in names) == (cov_type == "HC1")
    assert "sum of squared residuals" in names
    # The whole budget is used: not less noise than it allows, and hardly more.
    assert epsilon_of(report.releases, 1e-6) == pytest.approx(report.spent_epsilon, rel=1e-6)
    assert 2.999 < report.spent_epsilon <= 3.0 * (1.0 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_stated_errors_are_those_of_repeated_fits_on_the_same_rows(epsilon):
    X, y = table(4000, seed=1)
    models = [fitted(X, y, epsilon=epsilon, arithmetic="float", random_state=seed).inference_ for seed in range(120)]
    errors = np.array([model.estimate for model in models]) - least_squares(X, y)[0]
    stated = np.array([model.standard_errors("data") for model in models])
    shown = np.isfinite(stated).all(axis=1)
    assert shown.mean() > 0.97
    errors, stated = errors[shown], stated[shown]
    ratio = np.sqrt(np.mean((errors / stated) ** 2, axis=0))
    # Neither 2/3 nor 3/2; what clipping may hide is allowed for, and here it hides nothing.
    assert ((ratio > 0.75) & (ratio < 1.1)).all(), ratio
    assert (np.abs(np.mean(errors / stated, axis=0)) < 0.25).all()


def test_more_epsilon_gives_narrower_intervals_and_less_alpha_wider_ones():
    X, y = table(20_000)
    loose, tight = (fitted(X, y, epsilon=epsilon, arithmetic="float").inference_ for epsilon in (0.3, 8.0))
    assert (tight.standard_errors() < loose.standard_errors()).all()
    assert (tight.standard_errors("data") < tight.standard_errors("population")).all()
    wide, narrow = (np.diff(tight.conf_int(alpha)).ravel() for alpha in (0.01, 0.2))
    assert (wide > 1.9 * narrow).all()
    assert (np.abs(tight.estimate - TRUTH) < 5.0 * tight.standard_errors()).all()


def test_few_rows_give_reasons_instead_of_numbers():
    X, y = table(200)
    model = fitted(X, y, epsilon=0.5)
    with pytest.warns(InferenceWarning, match="smallest eigenvalue"):
        assert np.isnan(np.asarray(model.conf_int())).all()
    with pytest.warns(InferenceWarning, match="use more rows"):
        found = model.predict_interval(X[:3])
    assert np.isnan(found["lower"]).all()
    assert np.isfinite(found["mean"]).all()
    text = " ".join(str(model.summary()).split())
    assert "No intervals: along some direction the features vary too little" in text
    assert all(row.lower is None and row.stderr is None for row in model.summary().rows)
    assert model.inference_.r_squared() is None


def test_r_squared_is_not_shown_where_luck_alone_makes_it_seem_certain():
    true, residual_std, total_std = 1.0, 0.1, 0.5  # of a fit that explains nothing
    wrong = 0
    for residual, total in true + np.random.default_rng(0).standard_normal((5000, 2)) * [residual_std, total_std]:
        limits = made_up((residual, residual_std), (total, total_std)).r_squared()
        wrong += limits is not None and limits[1] > 0.0
    assert wrong <= 5


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_r_squared_is_the_same_in_all_units_of_the_target(exponent):
    pairs = np.array([(1.0, 0.01), (2.0, 0.02)])
    assert made_up(*(pairs * 2.0**exponent)).r_squared() == made_up(*pairs).r_squared() is not None


def test_units_without_clustered_errors_have_intervals_for_the_data_only():
    X, y = table(40_000)
    parameters = {"epsilon": 5.0, "arithmetic": "float", "max_rows_per_unit": 2, "options": {"cov_type": "nonrobust"}}
    bounds = Bounds(list(BOUNDS.features.values()), BOUNDS.target)
    model = PrivateLinearRegression(delta=1e-6, bounds=bounds, inference=True, random_state=0, **parameters)
    model.fit(X, y, groups=np.arange(40_000) // 2)
    with pytest.warns(InferenceWarning, match="not independent"):
        assert np.isnan(np.asarray(model.conf_int())).all()
    found, (solution, _, variance, r_squared) = model.inference_, least_squares(X, y)
    limits = found.conf_int(1e-4, target="data")
    assert ((limits[:, 0] < solution) & (solution < limits[:, 1])).all()
    _, low, high = found.residual_variance.with_limits(1e-4)
    assert low < variance < high
    _, low, high = found.r_squared(1e-4)
    assert low < r_squared < high


def test_combinations_have_the_variance_of_the_definition():
    found = made_up()
    np.testing.assert_allclose(found.standard_errors("data"), [2.0, 3.0])
    np.testing.assert_allclose(found.standard_errors("population"), [4.0, 5.0])
    np.testing.assert_allclose(
        found.conf_int(0.05, target="data")[0], 1.0 + 1.959964 * 2.0 * np.array([-1, 1]), rtol=1e-6
    )
    np.testing.assert_allclose(found.covariance("data"), np.diag([4.0, 9.0]))
    np.testing.assert_allclose(found.covariance(), np.diag([16.0, 25.0]))
    sure, unsure = made_up((1.0, 1e-6)), made_up((1.0, 0.5))
    assert np.diff(unsure.conf_int())[0] > 1.02 * np.diff(sure.conf_int())[0]  # Student's quantile
    assert np.isnan(made_up((1.0, 2.0)).conf_int()).all()  # a variance that is noise for the most part


@pytest.mark.parametrize("r_squared", [0.05, 0.6, 0.99])
def test_limits_of_r_squared_cover_whatever_the_noise(r_squared):
    rng = np.random.default_rng(2)
    for residual_std, total_std in ((0.01, 0.01), (0.05, 0.3), (0.3, 0.02)):
        covered = 0
        for _ in range(1500):
            residual = (1.0 - r_squared) + residual_std * rng.standard_normal()
            total = 1.0 + total_std * rng.standard_normal()
            limits = made_up((residual, residual_std), (total, total_std)).r_squared(0.05)
            covered += limits is None or limits[1] <= r_squared <= limits[2]
        assert covered / 1500 > 0.93


def test_what_the_noise_hides_has_no_number():
    assert made_up((0.1, 0.4), (0.2, 0.4)).r_squared() is None
    assert made_up((0.0, 0.01), (0.0, 0.01)).r_squared() is None
    assert made_up((0.1, 0.4)).residual_variance.with_limits() is None
    assert made_up((1.0, 0.3)).residual_variance.with_limits()[1] > 0.0
    assert np.isnan(made_up((0.1, 0.4)).predict_interval(np.ones((1, 1))).lower).all()


def test_arguments_are_checked():
    X, y = table(500)
    for wrong in (1.5, 0.3, "half"):
        with pytest.raises(ParameterError, match="inference="):
            fitted(X, y, inference=wrong)
    model = fitted(X, y, inference=False)
    with pytest.raises(ParameterError, match="inference=True"):
        model.conf_int()
    with pytest.raises(ParameterError, match="inference=True"):
        model.predict_interval(X[:2])
    for wrong in ({"alpha": 0.0}, {"alpha": 1.2}, {"target": "truth"}):
        with pytest.raises(ParameterError):
            made_up().conf_int(**wrong)
    with pytest.raises(ParameterError):
        made_up().predict_interval(np.ones((1, 1)), of="both")


def test_a_refused_row_costs_nothing():
    X, y = table(500)
    X[3, 0] = np.nan
    with pytest.raises(DataError):
        fitted(X, y)


@pytest.mark.extras
def test_a_saved_model_keeps_them(tmp_path):
    people = frame()
    model = PrivateLinearRegression(epsilon=3.0, delta=1e-6, bounds=BOUNDS, inference=True, random_state=0)
    model.fit(people, "pay").save(tmp_path / "model.json")
    loaded = PrivateLinearRegression.load(tmp_path / "model.json")
    assert str(loaded.summary()) == str(model.summary())
    np.testing.assert_array_equal(
        np.asarray(loaded.conf_int(0.1, target="data")), np.asarray(model.conf_int(0.1, target="data"))
    )
    rows = people[["age", "hours"]].head(4)
    np.testing.assert_array_equal(loaded.predict_interval(rows), model.predict_interval(rows))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.pop("estimate"),
        lambda data: data.update(estimate=[1.0]),
        lambda data: data.update(estimate=[[1.0, 2.0]]),
        lambda data: data.update(privacy_covariance=[["a", "b"], ["c", "d"]]),
        lambda data: data.update(residual_variance=[1.0]),
        lambda data: data.update(reasons="none"),
        lambda data: data.update(intercept=None),
        lambda data: data.update(cov_type="HC7"),
    ],
)
def test_a_spoilt_inference_is_refused(spoil):
    data = json.loads(json.dumps(made_up().to_dict()))
    Inference.from_dict(data)
    spoil(data)
    with pytest.raises((KeyError, TypeError, ValueError)):
        Inference.from_dict(data)


def test_a_model_file_with_a_spoilt_inference_is_refused(tmp_path):
    X, y = table(300)
    model = fitted(X, y)
    model.inference_ = made_up(names=("a",), estimate=np.ones(1), privacy_covariance=np.eye(1))
    model.save(tmp_path / "model.json")
    with pytest.raises(ModelFileError):
        PrivateLinearRegression.load(tmp_path / "model.json")


def alike(n=6000, *, seed=0, apart=0.06):
    """Two features that are nearly alike, beside one of its own."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, (n, 3))
    X[:, 1] = np.clip(X[:, 0] + apart * rng.standard_normal(n), 0.0, 1.0)
    return X, X @ [0.3, 0.1, -0.2] + 0.05 * rng.uniform(-1.0, 1.0, n)


def inferred(gram_eigenvalues, *, seed=0, **more):
    """An inference whose released X'X has these eigenvalues, in standard deviations of its noise, along the axes."""
    d = len(gram_eigenvalues)
    plan = algorithm("whitened-inference").plan(PrivacyBudget(1.0, 1e-6), n_rows=10**6, n_features=d)
    rng = np.random.default_rng(seed)
    step = 1e-3 * rng.standard_normal(d)
    released = {
        "metric": np.eye(d),
        "used": 1e6,
        "used_noise": 0.0,
        "mass": 1e6,
        "target_mean": 0.0,
        "target_squares": 0.02,
        "mean_noise": 1e-6,
        "gram": plan.third_gram_multiplier * np.diag(np.asarray(gram_eigenvalues, dtype=float)),
        "gram_noise": plan.third_gram_multiplier,
        "point": np.zeros(d),
        "point_noise": 1e-3,
        "gradient": step,
        "step": step,
        "gradient_noise": 1e-3,
        "by_range": True,
        "power": 4.0,
        "unseen": 0.0,
        "limits": np.ones(12),
        "residual_bound": 1.0,
        "lost": 0.0,
        "squares": 1e4,
        "score_limit": 1.0,
        "scores": 1e-4 * np.eye(d),
        "score_noise": 1e-6,
    } | more
    fit = Fit(step[None], plan.releases, {name: np.asarray(value)[None] for name, value in released.items()})
    bounds = Bounds([(-1.0, 1.0)] * d, (-1.0, 1.0))
    row_map = bounds.row_map(n_features=d, columns=None, fit_intercept=False)
    return infer(plan, fit, row_map, [f"x{i}" for i in range(d)], n_rows=10**6)


def test_a_direction_that_is_unsure_takes_only_intervals_that_depend_on_it():
    found = inferred([3.0, 50.0, 50.0])
    for target in ("data", "population"):
        assert list(np.isnan(found.standard_errors(target))) == [True, False, False]
        assert list(np.isnan(found.p_values(target))) == [True, False, False]
        assert found.why_empty(target)[0].startswith("x0: along some direction")
        assert np.isnan(found.covariance(target)).sum() == 5
    weights = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.01, 1.0, 0.0], [0.05, 1.0, 0.0]])
    stderr, _ = found.of_combinations(weights, target="data")
    assert list(np.isnan(stderr)) == [True, False, False, True]
    # A new observation has a variance of its own, beside which that of the coefficients may be small.
    new = found.predict_interval(np.array([[0.05, 1.0, 0.0]]))
    assert np.isfinite(new.lower).all()
    assert inferred([4.5, 50.0, 50.0]).why_empty() == ()
    assert inferred([2.0, 50.0, 50.0]).reasons


def test_what_many_directions_must_reach_grows_with_their_number():
    assert not np.isnan(inferred([6.0] * 8).standard_errors("data")).any()
    assert np.isnan(inferred([6.0] * 30).standard_errors("data")).all()


def test_gradients_that_contradict_the_curvature_leave_no_interval():
    assert not inferred([50.0] * 3, misfit=0.0).reasons
    (why,) = inferred([50.0] * 3, misfit=1.0).reasons
    assert "curvature" in why
    assert "a rare category" in why


@pytest.mark.parametrize("wide", [1.0, 20.0])
def test_intervals_of_skewed_columns_cover_however_wide_the_bounds_are(wide):
    covered, drawn = [], range(20)
    for seed in drawn:
        rng = np.random.default_rng(seed)
        X = np.exp(rng.standard_normal((10_000, 1)))
        y = X[:, 0] + rng.standard_normal(len(X))
        bounds = Bounds([(0.0, 60.0 * wide)], (-5.0 * wide, 65.0 * wide))
        found = fitted(X, y, bounds=bounds, epsilon=1.0, arithmetic="float", random_state=seed).inference_
        (low, high), _ = found.conf_int(target="data")
        covered.append(low <= least_squares(X, y)[0][0] <= high)
    assert np.mean(covered) >= 0.8


@pytest.mark.extras
def test_a_summary_and_a_warning_name_the_coefficients_without_intervals():
    X, y = alike(apart=0.005)
    bounds = Bounds([(0.0, 1.0)] * 3, (-1.0, 1.0))
    rows = np.array([[1.0, 0.0, 0.5], [0.5, 0.5, 0.5]])
    for seed in range(60):
        model = fitted(X, y, bounds=bounds, epsilon=1.5, arithmetic="float", random_state=seed)
        empty = np.isnan(model.inference_.standard_errors())
        some = np.isnan(model.inference_.predict_interval(rows, of="mean").stderr).sum() == 1
        if empty[:2].all() and not empty.all() and some:
            break
    else:
        pytest.fail("no fit had intervals for some coefficients only")
    with pytest.warns(InferenceWarning, match="x0, x1.*: along some direction"):
        assert np.isnan(np.asarray(model.conf_int())[:2]).all()
    with pytest.warns(InferenceWarning, match="1 of 2 rows"):
        model.predict_interval(rows, of="mean")
    assert "No interval of x0, x1" in " ".join(str(model.summary()).split())
    assert [row.lower is None for row in model.summary().rows] == list(empty)
    found = model.inference_
    errors = np.abs(found.estimate - [0.3, 0.1, -0.2, 0.0])[~empty]
    assert (errors < 5.0 * found.standard_errors()[~empty]).all()


@pytest.mark.parametrize("values", [[8.0, 40.0, 40.0], [12.0] * 6])
def test_the_inverse_is_free_of_what_noise_adds(values):
    rng = np.random.default_rng(3)
    d, exact = len(values), 1.0 / np.asarray(values)
    plain, found = [], []
    for _ in range(8_000):
        drawn = rng.standard_normal((d, d))
        noisy = np.diag(values) + (drawn + drawn.T) / 2.0
        plain.append(np.diag(np.linalg.inv(noisy)))
        _, vectors, inverses = inverse_under_noise(noisy, 1.0)
        found.append(np.einsum("ij,j,ij->i", vectors, inverses, vectors))
    error, before = (np.abs(np.mean(each, axis=0) / exact - 1.0)[0] for each in (found, plain))
    assert before > 0.015
    assert error < 0.3 * before


def test_p_values_agree_with_intervals():
    for target in ("data", "population"):
        found = made_up((1.0, 0.3))
        p = found.p_values(target)
        for i, value in enumerate(p):
            limits = found.conf_int(value, target=target)[i]
            assert np.abs(limits).min() == pytest.approx(0.0, abs=1e-6)


def test_limits_of_r_squared_cover_where_long_rows_carry_what_is_explained():
    rng = np.random.default_rng(1)
    x = rng.exponential(5.0, 5000).clip(0.0, 60.0)
    y = (5.0 + 0.1 * x + rng.normal(0.0, 1.5, 5000)).clip(0.0, 20.0)
    true = np.corrcoef(x, y)[0, 1] ** 2
    bounds = Bounds(features=[(0, 60)], target=(0, 20))
    fits = [
        PrivateLinearRegression(10.0, 1e-6, bounds, inference=True, arithmetic="float", random_state=seed).fit(
            x[:, None], y
        )
        for seed in range(60)
    ]
    limits = [found for fit in fits if (found := fit.inference_.r_squared()) is not None]
    assert len(limits) > 50
    assert np.mean([low <= true <= high for _, low, high in limits]) > 0.9


@pytest.mark.filterwarnings("ignore::dpols.errors.InferenceWarning")
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
@pytest.mark.parametrize(
    ("made", "bounds", "words"),
    [
        (
            lambda first: first,
            (0.0, 20.0),
            "hides the difference between x0 and x2: if one follows from the others, leave it",
        ),
        (
            lambda first: first,
            (0.0, 40.0),
            "hides the difference between x0 and x2: if one follows from the others, leave it",
        ),
        (lambda first: np.full(len(first), 5.0), (0.0, 10.0), "x2 hardly varies, as far as the noise shows"),
        (lambda first: np.full(len(first), 8.0), (0.0, 10.0), "x2 hardly varies, as far as the noise shows"),
    ],
)
def test_copies_and_constants_are_named(made, bounds, words, epsilon):
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0.0, 20.0, 20_000), rng.uniform(16.0, 75.0, 20_000)
    X = np.column_stack((first, second, made(first)))
    y = 2.0 * first + 0.3 * second + rng.normal(0.0, 8.0, 20_000)
    limits = Bounds(features=[(0.0, 20.0), (16.0, 75.0), bounds], target=(0.0, 100.0))
    model = PrivateLinearRegression(epsilon, 1e-6, limits, inference=True, random_state=0, arithmetic="float").fit(X, y)
    (why,) = model.inference_.why_not()
    assert words in why


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::dpols.errors.InferenceWarning")
@pytest.mark.parametrize(
    ("terms", "words"),
    [
        (
            "hours + C(sex, levels=['Female', 'M'])",
            "sex[M] hardly varies, as far as the noise shows: if the data spell its category differently, correct that",
        ),
        (
            "hours + age + I(age**2)",
            "age^2 goes nearly along with age: centre it at a public number, as I((age - 45)**2) of a formula does",
        ),
        ("hours + age + I((age - 40)**2)", None),
    ],
)
def test_a_misspelt_category_and_a_power_that_is_not_centred_are_named(terms, words):
    import pandas

    rng = np.random.default_rng(0)
    people = pandas.DataFrame({"hours": rng.uniform(0, 60, 4_000), "age": rng.uniform(30, 50, 4_000)})
    people["sex"], people["pay"] = rng.choice(["Female", "Male"], 4_000), people["hours"] + rng.normal(0, 5, 4_000)
    bounds = Bounds(features={"hours": (0, 60), "age": (30, 50)}, target=(-20, 80))
    model = ols(f"pay ~ {terms}", people, epsilon=0.6, delta=1e-6, bounds=bounds, inference=True, random_state=0)
    why = "; ".join((*model.inference_.why_not(), *model.inference_.why_empty()))
    assert why == "" if words is None else words in why
    notes = " ".join(model.privacy_report_.estimate_notes)
    assert words is None or words in notes
