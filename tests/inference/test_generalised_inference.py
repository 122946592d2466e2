"""Intervals of yes/no outcomes and counts: the limits without noise, the words, and what is hidden."""

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor, summary_col
from dpols.errors import InferenceWarning, ParameterError

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras

FEATURES = {"age": (20.0, 80.0), "dose": (0.0, 4.0)}
NAMES = ["age", "dose", "intercept"]


def people(n=6000, seed=0, rate=-1.0, size=1):
    """Rows with a yes/no outcome and a count; rows of a unit share a part of both."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(-(-n // size)), size)[:n]
    frame = pd.DataFrame({"age": rng.uniform(20.0, 80.0, n), "dose": rng.uniform(0.0, 4.0, n), "id": unit})
    eta = rate + 0.03 * (frame["age"] - 50.0) - 0.4 * (frame["dose"] - 2.0) + (size > 1) * rng.normal(0, 0.8, n)[unit]
    frame["sick"] = (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    frame["visits"] = np.minimum(rng.poisson(np.exp(1.0 + 0.5 * eta) * rng.gamma(2.0, 0.5, n)), 40).astype(float)
    return frame


def sandwich(frame, target, family, units=None):
    """Maximum likelihood, its classical, robust or clustered standard errors and its deviances, written out."""
    X = np.column_stack((frame[["age", "dose"]].to_numpy(), np.ones(len(frame))))
    y, theta = frame[target].to_numpy(), np.zeros(3)
    theta[-1] = np.log(y.mean() / (1.0 - y.mean())) if family == "binomial" else np.log(y.mean())
    for _ in range(50):
        mean = 1.0 / (1.0 + np.exp(-X @ theta)) if family == "binomial" else np.exp(X @ theta)
        weight = mean * (1.0 - mean) if family == "binomial" else mean
        inverse = np.linalg.inv((X.T * weight) @ X)
        theta = theta + inverse @ X.T @ (y - mean)
    n, d = X.shape
    scores, factor = X * (y - mean)[:, None], n / (n - d)
    if units is not None:
        scores = np.array([scores[units == unit].sum(axis=0) for unit in np.unique(units)])
        factor = len(scores) / (len(scores) - 1) * (n - 1) / (n - d)

    def deviance(mean):
        with np.errstate(divide="ignore", invalid="ignore"):
            if family == "binomial":
                return -2.0 * np.sum(np.where(y > 0, np.log(mean), np.log1p(-mean)))
            return 2.0 * np.sum(np.where(y > 0, y * np.log(y / mean), 0.0) - (y - mean))

    robust = np.sqrt(factor * np.diag(inverse @ scores.T @ scores @ inverse))
    explained = 1.0 - deviance(mean) / deviance(np.full(n, y.mean()))
    return theta, np.sqrt(np.diag(inverse)), robust, explained


def model_of(family, epsilon, **more):
    given = {"delta": 1e-6, "inference": True, "random_state": 0, **more}
    if family == "binomial":
        return PrivateLogisticRegression(epsilon, bounds=Bounds(features=FEATURES), classes=(0.0, 1.0), **given)
    return PrivatePoissonRegressor(epsilon, bounds=Bounds(features=FEATURES, target=(0.0, 40.0)), **given)


def fitted(family, frame, epsilon, **more):
    target = "sick" if family == "binomial" else "visits"
    return model_of(family, epsilon, **more).fit(frame[["age", "dose"]], frame[target])


every_family = pytest.mark.parametrize("family", ["binomial", "poisson"])


@every_family
@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_with_next_to_no_noise_they_are_those_of_the_sandwich(family, arithmetic):
    frame = people()
    target = "sick" if family == "binomial" else "visits"
    found = fitted(family, frame, 1e9, arithmetic=arithmetic).inference_
    best, classical, robust, explained = sandwich(frame, target, family)
    assert found.cov_type == "HC1"
    np.testing.assert_allclose(found.estimate, best, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(found.standard_errors(), robust, rtol=0.03)
    assert (found.standard_errors("data") < 0.05 * robust).all()
    assert found.r_squared()[0] == pytest.approx(explained, abs=2e-3)
    plain = fitted(family, frame, 1e9, arithmetic=arithmetic, options={"cov_type": "nonrobust"}).inference_
    np.testing.assert_allclose(plain.standard_errors(), classical, rtol=0.03)
    if family == "poisson":  # counts that vary more than Poisson's law says
        assert (robust > 1.3 * classical).all()


@every_family
def test_with_next_to_no_noise_units_have_clustered_errors(family):
    frame = people(3000, size=3)
    target = "sick" if family == "binomial" else "visits"
    model = model_of(family, 1e9, unit="id", max_rows_per_unit=3)
    model.fit(frame[["age", "dose", "id"]], frame[target])
    *_, robust, _ = sandwich(frame, target, family, frame["id"].to_numpy())
    assert model.inference_.cov_type == "cluster"
    np.testing.assert_allclose(model.inference_.standard_errors(), robust, rtol=0.03)


@every_family
def test_stated_errors_are_those_of_repeated_fits(family):
    frame = people(8000, seed=3)
    models = [fitted(family, frame, 2.0, random_state=seed, arithmetic="float") for seed in range(40)]
    errors = np.array([model.inference_.standard_errors("data") for model in models])
    assert np.isnan(errors).mean() < 0.1
    stated = np.nanmean(errors, axis=0)
    measured = np.std([model.inference_.estimate for model in models], axis=0)
    best = sandwich(frame, "sick" if family == "binomial" else "visits", family)[0]
    off = np.mean([model.inference_.estimate for model in models], axis=0) - best
    assert (stated > measured / 1.35).all()
    assert (stated < 1.6 * measured).all()
    assert (np.abs(off) < 0.8 * stated).all()


@every_family
def test_the_words_are_those_of_the_linear_model(family):
    frame = people()
    model = fitted(family, frame, 8.0)
    assert list(model.params.index) == NAMES
    np.testing.assert_array_equal(model.params, [*np.ravel(model.coef_), np.ravel(model.intercept_)[0]])
    ratios = model.odds_ratios() if family == "binomial" else model.rate_ratios()
    assert list(ratios.index) == NAMES[:2]
    np.testing.assert_allclose(ratios.to_numpy(), np.exp(np.column_stack((model.params, model.conf_int())))[:2])
    tidy = model.tidy(exponentiate=True)
    np.testing.assert_allclose(tidy["estimate"][:2], ratios.iloc[:, 0])
    assert 0.0 < model.glance()["deviance_explained"][0] < 1.0
    assert model.wald_test("age = 0, dose = 0").pvalue < 1e-6
    text = str(model.summary())
    assert ("odds ratio" if family == "binomial" else "rate ratio") in text
    assert "R-squared" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "ratio" in model.summary().as_latex()
    assert "ratio" in model.summary().as_html()
    assert f"multiplies the {'odds of a yes' if family == 'binomial' else 'mean count'};" in " ".join(text.split())
    beside = summary_col([model, model], names=["sick", "again"])
    assert "sick" in str(beside)
    facts = dict(beside.facts)
    assert not {"R-squared", "Adj. R-squared"} & set(facts)
    assert facts["Deviance explained"][0] == f"{model.glance()['deviance_explained'][0]:.4f}"


def test_fits_of_several_families_stand_beside_each_other_under_their_own_words():
    rng = np.random.default_rng(0)
    frame = people(n=8000).assign(pay=lambda table: 0.01 * table["age"] + 0.1 * rng.normal(size=len(table)))
    options = {"random_state": 1, "arithmetic": "float", "inference": True}
    linear = PrivateLinearRegression(8.0, 1e-6, Bounds(features=[(0.0, 100.0)], target=(0.0, 1.5)), **options)
    fits = [linear.fit(frame[["age"]], frame["pay"]), fitted("binomial", frame, 8.0)]
    facts = dict(summary_col(fits).facts)
    shares = [facts[name] for name in ("R-squared", "Deviance explained", "Adj. R-squared")]
    assert [[bool(cell) for cell in cells] for cells in shares] == [[True, False], [False, True], [True, False]]


@every_family
def test_limits_of_means_lie_in_the_range_and_around_them(family, tmp_path):
    frame = people()
    model = fitted(family, frame, 8.0)
    rows = frame[["age", "dose"]].head(5)
    found = model.predict_interval(rows)
    expected = model.predict_proba(rows)[:, 1] if family == "binomial" else model.predict(rows)
    np.testing.assert_allclose(found["mean"], expected)
    assert (found["lower"] < found["mean"]).all()
    assert (found["mean"] < found["upper"]).all()
    frame_of = model.get_prediction(rows).summary_frame()
    assert list(frame_of.columns) == ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]
    np.testing.assert_allclose(frame_of["mean_ci_lower"], found["lower"])
    with pytest.raises(ParameterError, match="of='observation' must be \"mean\""):
        model.predict_interval(rows, of="observation")
    model.save(tmp_path / "model.json")
    again = type(model).load(tmp_path / "model.json")
    assert str(again.summary()) == str(model.summary())


def test_separation_and_few_events_have_words_in_place_of_numbers():
    frame = people(2000)
    frame["sick"] = (frame["age"] > 50.0).astype(float)  # tells yes from no without error
    with pytest.warns(InferenceWarning, match="no intervals"):
        assert np.isnan(fitted("binomial", frame, 3.0).conf_int()).any(axis=None)
    frame["sick"] = (np.arange(2000) % 300 == 0).astype(float)
    model = fitted("binomial", frame, 1.0)
    assert "hidden by the noise" in str(model.summary()) or "No intervals" in str(model.summary())
    assert np.isnan(model.bse).any()
    assert np.isfinite(model.coef_).all()


def test_without_inference_the_summary_says_how_to_get_it():
    model = model_of("binomial", 1.0, inference=False)
    model.fit(people()[["age", "dose"]], people()["sick"])
    assert "Private logistic regression" in str(model.summary())
    assert "inference=True" in str(model.summary())
    with pytest.raises(ParameterError, match="fit with inference=True"):
        model.odds_ratios()


def nearly_certain(n=20_000):
    """Rows with a rare outcome that features nearly decide."""
    rng = np.random.default_rng(1)
    X = np.column_stack((rng.uniform(-1.0, 1.0, n), rng.random((n, 4)) < 0.3)).astype(float)
    eta = -4.5 + X @ np.array([2.1, 1.4, -1.4, 1.4, 2.1])
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(int)


@pytest.mark.filterwarnings("ignore::dpols.errors.InferenceWarning")
def test_steps_that_end_too_early_are_not_blamed_on_noise_and_more_of_them_help():
    X, y = nearly_certain()
    bounds = Bounds(features=[(-1.0, 1.0)] + [(0.0, 1.0)] * 4)
    found = []
    for options in ({}, {"n_iterations": 16}, {"n_iterations": 28}):
        model = PrivateLogisticRegression(
            100.0, 1e-6, bounds, classes=[0, 1], inference=True, random_state=0, arithmetic="float", options=options
        )
        found.append(model.fit(X, y))
    for model, more in ((found[0], 28), (found[1], 32)):
        why = model.privacy_report_.estimate_notes[0]
        assert "noise" not in why
        assert f'options={{"n_iterations": {more}}}' in why
    assert not np.isnan(np.asarray(found[2].conf_int())).any()
