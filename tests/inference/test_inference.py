"""Standard errors and intervals: what they become without noise, what they cost, and that they tell the truth."""

import json
import math

import numpy as np
import pytest
from inference_problems import BOUNDS, TRUTH, fitted, frame, least_squares, table

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.data import ArraySource, BoundedRows
from dpols.errors import DataError, InferenceWarning, ModelFileError, ParameterError
from dpols.inference import Estimate, Inference, infer
from dpols.linalg import inverse_under_noise
from dpols.privacy import PrivacyBudget, epsilon_of
from dpols.randomness import streams
from dpols.side_releases import one_step
from dpols.statistics import clipped_gradient_and_squares, counts_and_moments, gram

NAMES = ("age", "hours", "intercept")


def made_up(residual=(1.0, 0.0), total=(2.0, 0.0), **more):
    """An inference of two coefficients with round numbers."""
    parts = {
        "names": ("a", "b"),
        "n_rows": 10_000,
        "rows_used": 10_000.0,
        "intercept": True,
        "estimate": np.array([1.0, -2.0]),
        "privacy_covariance": np.diag([4.0, 9.0]),
        "unscaled_covariance": np.diag([12.0, 16.0]),
        "unscaled_spread": np.zeros((2, 2)),
        "unsure_spread": np.zeros((2, 2)),
        "residual_variance": Estimate(*residual),
        "target_variance": Estimate(*total),
        "reasons": (),
        "population_reasons": (),
    }
    return Inference(**(parts | more))


@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no-intercept"])
@pytest.mark.parametrize("method", ALGORITHMS)
def test_with_next_to_no_noise_they_are_those_of_ordinary_least_squares(method, intercept):
    X, y = table(2000)
    model = fitted(X, y, epsilon=1e9, method=method, fit_intercept=intercept, arithmetic="float")
    solution, stderr, variance, r_squared = least_squares(X, y, intercept=intercept)
    found = model.inference_
    np.testing.assert_allclose(found.estimate, solution, rtol=1e-3)
    np.testing.assert_allclose(found.standard_errors("population"), stderr, rtol=1e-2)
    assert (found.standard_errors("data") < 0.05 * stderr).all()
    assert found.residual_variance.value == pytest.approx(variance, rel=1e-2)
    assert found.r_squared()[0] == pytest.approx(r_squared, abs=1e-3)
    assert found.names == (("x0", "x1", "intercept") if intercept else ("x0", "x1"))
    room = 1.96 * stderr
    np.testing.assert_allclose(model.conf_int(), np.column_stack((solution - room, solution + room)), rtol=0.02)


def test_predictions_without_noise_have_the_classical_intervals():
    X, y = table(2000)
    model = fitted(X, y, epsilon=1e7, arithmetic="float")
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
@pytest.mark.parametrize("method", ["whitened", "ihm", "ihm-adaptive"])
def test_what_they_are_made_of_is_recorded_and_paid_for(method, arithmetic):
    X, y = table(1000)
    paid, plain = (fitted(X, y, method=method, arithmetic=arithmetic, inference=share) for share in (0.3, False))
    report = paid.privacy_report_
    names = [line.what for line in report.lines if "for intervals" in line.what or "at the fit" in line.what]
    assert len(names) == 4
    assert report.spent_epsilon <= 3.0 * (1.0 + 1e-9)
    assert len(report.releases) >= len(plain.privacy_report_.releases) + 5 - (method == "ihm-adaptive") * 20
    budget = PrivacyBudget(3.0, 1e-6)
    planned = one_step.plan(budget, n_rows=1000, n_features=3, budget_share=0.3).releases
    for release in planned:
        assert release in report.releases
    # All five together are worth the share that was asked for: not less noise, and hardly more.
    whole = one_step.plan(budget, n_rows=1000, n_features=3, budget_share=1.0 - 1e-12).releases
    assert epsilon_of(whole, 1e-6) == pytest.approx(3.0, rel=1e-6)
    if method != "ihm-adaptive":  # one in stages adds epsilons
        assert epsilon_of(report.releases, 1e-6) == pytest.approx(report.spent_epsilon, rel=1e-6)
        assert report.spent_epsilon > 2.999


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_each_release_has_the_noise_that_it_is_accounted_with(arithmetic):
    X, y = table(300, seed=3)
    row_map = BOUNDS.row_map(n_features=2, columns=("age", "hours"), fit_intercept=True)
    rows = BoundedRows(ArraySource(X, y), row_map, arithmetic=arithmetic)
    plan = one_step.plan(PrivacyBudget(1.0, 1e-6), n_rows=300, n_features=3, budget_share=0.5)
    trials = 4000 if arithmetic == "float" else 700
    theta = np.tile([0.3, 0.1, -0.1], (trials, 1))
    measured = one_step.run(rows, plan, theta, streams(1, trials))
    assert measured.releases == plan.releases
    plain = BoundedRows(ArraySource(X, y), row_map)
    counts, moments = counts_and_moments(plain, theta[:1], edges=one_step.EDGES)
    off_diagonal = (measured.gram - gram(plain).value)[:, [0, 0, 1], [1, 2, 2]]
    noise = {
        "diagonal": ((measured.gram - gram(plain).value)[:, range(3), range(3)], plan.gram_multiplier),
        "beside it": (off_diagonal, plan.gram_multiplier * math.sqrt(0.5)),
        "counts": (measured.counts - counts.value, plan.count_multiplier),
        "moments": (measured.moments - moments.value, plan.moment_multiplier * math.sqrt(2.0)),
    }
    gradients, squares = [], []
    for bound in np.unique(measured.residual_bound):
        here = measured.residual_bound == bound
        gradient, square = clipped_gradient_and_squares(plain, theta[:1], residual_bound=float(bound))
        gradients.append((measured.gradient[here] - gradient.value * bound) / bound)
        squares.append((measured.squares[here] - square.value[0] * bound**2) / bound**2)
    noise["gradient"] = (np.concatenate(gradients), plan.gradient_multiplier)
    noise["squares"] = (np.concatenate(squares), plan.square_multiplier)
    for name, (values, stddev) in noise.items():
        ratio = float(np.std(values)) / stddev
        assert 0.93 < ratio < 1.07, (name, ratio)  # far from 2/3 and from 3/2
        assert abs(float(np.mean(values))) < 0.15 * stddev, name


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_stated_errors_are_those_of_repeated_fits_on_the_same_rows(epsilon):
    X, y = table(4000, seed=1)
    models = [fitted(X, y, epsilon=epsilon, arithmetic="float", random_state=seed).inference_ for seed in range(120)]
    errors = np.array([model.estimate for model in models]) - least_squares(X, y)[0]
    stated = np.array([model.standard_errors("data") for model in models])
    ratio = np.sqrt(np.mean((errors / stated) ** 2, axis=0))
    assert ((ratio > 0.8) & (ratio < 1.2)).all(), ratio  # neither 2/3 nor 3/2
    assert (np.abs(np.mean(errors / stated, axis=0)) < 0.25).all()


def test_more_epsilon_gives_narrower_intervals_and_less_alpha_wider_ones():
    X, y = table(20_000)
    loose, tight = (fitted(X, y, epsilon=epsilon, arithmetic="float").inference_ for epsilon in (1.0, 8.0))
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


def test_a_fit_that_is_far_off_gives_reasons():
    X, y = table(3000)
    model = fitted(X, y, epsilon=20.0, method="dp-gd", options={"learning_rate": 60.0, "norm_bound": 50.0})
    assert any("the fit is far off" in reason for reason in model.inference_.reasons)


def test_units_of_several_rows_have_intervals_for_the_data_only():
    X, y = table(40_000)
    parameters = {"epsilon": 5.0, "arithmetic": "float", "max_rows_per_unit": 2}
    import dpols

    bounds = dpols.Bounds(list(BOUNDS.features.values()), BOUNDS.target)
    model = PrivateLinearRegression(delta=1e-6, bounds=bounds, inference=True, random_state=0, **parameters)
    model.fit(X, y, groups=np.arange(40_000) // 2)
    with pytest.warns(InferenceWarning, match="not independent"):
        assert np.isnan(np.asarray(model.conf_int())).all()
    found, (solution, _, variance, r_squared) = model.inference_, least_squares(X, y)
    limits = found.conf_int(1e-4, target="data")
    assert ((limits[:, 0] < solution) & (solution < limits[:, 1])).all()
    # Where noise in the counts looks like residuals, as in this fit, the clip level and with it the errors are large.
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
            found = made_up((residual, residual_std), (1.0 + total_std * rng.standard_normal(), total_std))
            _, low, high = found.r_squared(0.05)
            covered += low <= r_squared <= high
        assert covered / 1500 > 0.93


def test_the_share_of_the_budget_is_checked():
    X, y = table(500)
    for share in (1.5, -0.1, "half", 0.0):
        with pytest.raises(ParameterError, match="inference="):
            fitted(X, y, inference=share)
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
    np.testing.assert_array_equal(loaded.conf_int(0.1, target="data"), model.conf_int(0.1, target="data"))
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


def inferred(gram_eigenvalues, *, seed=0):
    """An inference whose released X'X has these eigenvalues, in standard deviations of its noise, along the axes."""
    d = len(gram_eigenvalues)
    plan = one_step.plan(PrivacyBudget(1.0, 1e-6), n_rows=10**6, n_features=d, budget_share=0.5)
    rng = np.random.default_rng(seed)
    gram = np.diag(plan.gram_multiplier * np.asarray(gram_eigenvalues, dtype=float))
    measured = one_step.Measured(
        plan.releases,
        theta=np.zeros((1, d)),
        gram=gram[None],
        counts=np.zeros((1, len(one_step.EDGES))),
        moments=np.array([[0.0, 1e5]]),
        residual_bound=np.ones(1),
        gradient=plan.gradient_multiplier * rng.standard_normal((1, d)),
        squares=np.array([1e4]),
    )
    bounds = Bounds([(-1.0, 1.0)] * d, (-1.0, 1.0))
    row_map = bounds.row_map(n_features=d, columns=None, fit_intercept=False)
    return infer(plan, measured, row_map, [f"x{i}" for i in range(d)], n_rows=10**6)


def test_a_direction_that_is_unsure_takes_only_intervals_that_depend_on_it():
    found = inferred([4.0, 50.0, 50.0])
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
    assert inferred([6.0, 50.0, 50.0]).why_empty() == ()
    assert inferred([2.0, 50.0, 50.0]).reasons


def test_what_many_directions_must_reach_grows_with_their_number():
    assert not np.isnan(inferred([6.0] * 8).standard_errors("data")).any()
    assert np.isnan(inferred([6.0] * 30).standard_errors("data")).all()


@pytest.mark.extras
def test_a_summary_and_a_warning_name_the_coefficients_without_intervals():
    X, y = alike()
    bounds = Bounds([(0.0, 1.0)] * 3, (-1.0, 1.0))
    rows = np.array([[1.0, 0.0, 0.5], [0.5, 0.5, 0.5]])
    for seed in range(60):
        model = fitted(X, y, bounds=bounds, epsilon=6.0, arithmetic="float", random_state=seed)
        empty = np.isnan(model.inference_.standard_errors())
        some = np.isnan(model.inference_.predict_interval(rows, of="mean").stderr).sum() == 1
        if not model.inference_.reasons and list(empty) == [True, True, False, False] and some:
            break
    else:
        pytest.fail("no fit had intervals for some coefficients only")
    with pytest.warns(InferenceWarning, match="x0, x1: along some direction"):
        assert np.isnan(np.asarray(model.conf_int())[:2]).all()
    with pytest.warns(InferenceWarning, match="1 of 2 rows"):
        model.predict_interval(rows, of="mean")
    assert "No interval of x0, x1:" in " ".join(str(model.summary()).split())
    assert [row.lower is None for row in model.summary().rows] == list(empty)
    found = model.inference_
    assert (np.abs(found.estimate - [0.3, 0.1, -0.2, 0.0])[2:] < 5.0 * found.standard_errors()[2:]).all()


@pytest.mark.parametrize("values", [[8.0, 40.0, 40.0], [12.0] * 6])
def test_the_inverse_is_free_of_what_noise_adds(values):
    rng = np.random.default_rng(3)
    d, exact = len(values), 1.0 / np.asarray(values)
    plain, found = [], []
    for _ in range(20_000):
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
