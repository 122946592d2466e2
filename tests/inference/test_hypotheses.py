"""Tests of restrictions: what they become without noise, that they hold their level, and what noise leaves of them."""

from dataclasses import replace

import numpy as np
import pytest
from inference_problems import Known, fitted, least_squares, table
from scipy import stats

from dpols.errors import ParameterError
from dpols.inference import hypotheses
from dpols.inference.hypotheses import TTest, nested_test, overall_test, t_test, wald_test
from dpols.inference.restrictions import Restrictions

RUNS = 300
CORRELATED = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, -0.1], [0.3, -0.1, 2.0]])


def made_up(*, estimate=(0.0, 0.0, 0.0), privacy=CORRELATED, residual=(1.0, 0.0), hidden=(), **more):
    return Known(np.array(estimate, dtype=float), np.array(privacy, dtype=float), residual, hidden, **more)


def squares(X, y):
    return float(np.sum((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2))


def test_without_noise_they_are_those_of_least_squares():
    X, y = table(2000, spread=10.0)
    found = fitted(X, y, epsilon=1e9, arithmetic="float").inference_
    solution, stderr, _, _ = least_squares(X, y)
    design = np.column_stack((X, np.ones(len(X))))
    free = len(X) - 3
    single = t_test(found, "x0 = 0.4")
    assert single.tvalue[0] == pytest.approx((solution[0] - 0.4) / stderr[0], rel=0.02)
    assert single.df_denom[0] == pytest.approx(free, rel=0.01)
    full = squares(design, y)
    for tested, smaller, count in (
        (wald_test(found, "x0 = x1"), np.column_stack((X.sum(axis=1), np.ones(len(X)))), 1),
        (wald_test(found, "x0 = x1, x1 = 0.4"), None, 2),
        (overall_test(found), np.ones((len(X), 1)), 2),
        (nested_test(found, ("x0", "intercept")), design[:, [0, 2]], 1),
        (wald_test(found, ["x0", "x1", "intercept"]), None, 3),
    ):
        if smaller is None:  # the restricted sum of squares, with what is fixed taken off the target
            fixed = y - 0.4 * X.sum(axis=1) if count == 2 else y
            restricted = squares(np.ones((len(X), 1)), fixed) if count == 2 else float(fixed @ fixed)
        else:
            restricted = squares(smaller, y)
        expected = (restricted - full) / count / (full / free)
        assert tested.statistic == pytest.approx(expected, rel=0.02)
        assert (tested.df_num, tested.df_denom) == (count, pytest.approx(free, rel=0.01))
        assert tested.pvalue == pytest.approx(stats.f.sf(tested.statistic, count, free), rel=0.02, abs=1e-300)


def test_a_joint_test_of_one_restriction_is_the_square_of_its_t():
    found = made_up(estimate=(2.0, -1.0, 3.0), residual=(1.0, 0.4))
    single, joint = t_test(found, "a - 2*b = 1"), wald_test(found, "a - 2*b = 1")
    assert joint.statistic == pytest.approx(single.tvalue[0] ** 2)
    assert joint.pvalue == pytest.approx(single.pvalue[0], rel=1e-9)
    assert joint.df_denom == pytest.approx(single.df_denom[0])
    variance = np.array([1, -2]) @ (CORRELATED[:2, :2] + np.eye(2)) @ np.array([1, -2])
    assert single.tvalue[0] == pytest.approx(3.0 / np.sqrt(variance))


def test_a_joint_test_does_not_depend_on_how_restrictions_are_written():
    found = made_up(estimate=(2.0, -1.0, 3.0), residual=(1.0, 0.5))
    one, other = wald_test(found, "a = 1, b = 2"), wald_test(found, "a + b = 3, 1000 * a - b = 998")
    assert one.statistic == pytest.approx(other.statistic)
    assert wald_test(found, "a = 1, b = 2", use_f=False).statistic == pytest.approx(2.0 * one.statistic)
    apart = np.array([1.0, -3.0])
    assert 2.0 * one.statistic == pytest.approx(apart @ np.linalg.solve(CORRELATED[:2, :2] + np.eye(2), apart))


def p_values(scale=1.0, *, runs=800, free=9.0):
    """P values of joint tests of what is true, with a noisy residual variance, of errors that are ``scale`` times."""
    rng = np.random.default_rng(3)
    variance, privacy = 4.0, 0.1 * CORRELATED
    root = np.linalg.cholesky(privacy + variance * np.eye(3))
    for _ in range(runs):
        noisy = variance * rng.chisquare(free) / free
        spread = noisy * np.sqrt(2.0 / free)
        estimate = scale * root @ rng.standard_normal(3)
        yield wald_test(made_up(estimate=estimate, privacy=privacy, residual=(noisy, spread)), "a, b, intercept").pvalue


def test_joint_tests_hold_their_level_with_a_noisy_variance():
    honest = np.array(list(p_values()))
    assert 0.03 < (honest < 0.05).mean() < 0.07
    assert stats.kstest(honest, "uniform").pvalue > 0.01
    for scale in (2 / 3, 3 / 2):
        assert stats.kstest(list(p_values(scale)), "uniform").pvalue < 1e-6


def test_degrees_of_freedom_lie_between_those_of_the_parts():
    parts = [t_test(made_up(privacy=p * np.eye(3), residual=(1.0, 0.4)), "a").df_denom[0] for p in (0.01, 5.0)]
    mixed = wald_test(made_up(privacy=np.diag([0.01, 5.0, 1.0]), residual=(1.0, 0.4)), "a, b").df_denom
    assert parts[0] < mixed < parts[1]


def test_what_the_noise_hides_is_said_and_has_no_number():
    found = made_up(estimate=(2.0, -1.0, 3.0), hidden=("a",))
    assert np.isnan(t_test(found, "a").pvalue).all()
    assert "hidden by the noise" in str(t_test(found, "a"))
    assert "nan" not in str(t_test(found, "a, b"))
    joint = wald_test(found, "a, b")
    assert np.isnan([joint.statistic, joint.pvalue, joint.df_denom, joint.fvalue]).all()
    assert "hidden by the noise: a has no standard error" in str(joint)
    assert np.isfinite(wald_test(found, "b, intercept").pvalue)
    none = made_up(reasons=("too few rows",))
    assert "hidden by the noise: too few rows" in str(overall_test(none))
    assert np.isnan(t_test(none, "a = b").limits(0.05, "max-t")).all()


def test_a_combination_may_be_determined_where_its_coefficients_are_not():
    found = made_up(estimate=(3.0, -1.0, 5.0), blind=(1.0, -1.0, 0.0))
    assert list(np.isnan(found.standard_errors())) == [True, True, False]
    assert np.isnan(wald_test(found, "a, intercept").pvalue)
    assert np.isnan(wald_test(found, "a + b, a, intercept").pvalue)
    together, seen = (wald_test(one, "a + b = 1, intercept = 4") for one in (found, replace(found, blind=None)))
    assert together.hidden is None
    assert together.statistic == pytest.approx(seen.statistic)
    assert together.pvalue == pytest.approx(seen.pvalue)


def test_both_ways_to_a_correlation_are_the_same():
    found = made_up(residual=(0.5, 0.1))
    weights = np.array([[1.0, 2.0, 0.0], [1.0, -1.0, 3.0], [0.0, 0.0, 1e6]])
    np.testing.assert_allclose(
        hypotheses._correlation_by_sums(found, weights, "population"),
        hypotheses._correlation(found, weights, "population"),
        atol=1e-12,
    )


def test_a_smaller_model_must_be_nested():
    with pytest.raises(ParameterError, match="'c', which this one has not"):
        nested_test(made_up(), ("a", "c"))
    with pytest.raises(ParameterError, match="nothing to test"):
        nested_test(made_up(), ("a", "b", "intercept"))
    assert overall_test(made_up()).texts == ("a = 0", "b = 0")


def every(found):
    return TTest(Restrictions.on_each(found.names), found, "population")


def widths(found, how):
    return np.diff(every(found).limits(0.05, how)).ravel()


def test_simultaneous_limits_are_wider_in_the_known_order():
    found = made_up(residual=(1.0, 0.3))
    one, largest, bonferroni, scheffe = (widths(found, how) for how in (None, "max-t", "bonferroni", "scheffe"))
    assert (one < largest).all()
    assert (largest < bonferroni).all()
    assert (bonferroni < scheffe).all()
    with pytest.raises(ParameterError, match="simultaneous='all'"):
        every(found).conf_int(simultaneous="all")


def test_simultaneous_limits_are_the_textbook_ones():
    known = made_up(privacy=np.eye(3))
    stderr = known.standard_errors()
    np.testing.assert_allclose(widths(known, "bonferroni"), 2 * stderr * stats.norm.isf(0.025 / 3), rtol=1e-6)
    np.testing.assert_allclose(widths(known, "scheffe"), 2 * stderr * np.sqrt(stats.chi2.isf(0.05, 3)), rtol=1e-4)
    independent = stats.norm.isf(0.5 * (1 - 0.95 ** (1 / 3)))
    np.testing.assert_allclose(widths(known, "max-t"), 2 * stderr * independent, rtol=0.01)
    np.testing.assert_array_equal(widths(known, "max-t"), widths(known, "max-t"))
    assert every(known).limits(0.05, "max-t")[0, 1] != every(known).limits(0.01, "max-t")[0, 1]


@pytest.mark.parametrize("how", ["max-t", "bonferroni", "scheffe"])
def test_simultaneous_limits_hold_together(how, monkeypatch):
    monkeypatch.setattr(hypotheses, "_DRAWS", 4000)
    rng = np.random.default_rng(5)
    privacy, free = 0.05 * CORRELATED, 12.0
    root, together, alone = np.linalg.cholesky(privacy + np.eye(3)), 0, 0
    for _ in range(RUNS):
        noisy = rng.chisquare(free) / free
        found = made_up(
            estimate=root @ rng.standard_normal(3), privacy=privacy, residual=(noisy, noisy * np.sqrt(2 / free))
        )
        low, high = every(found).limits(0.1, how).T
        together += ((low < 0) & (high > 0)).all()
        low, high = every(found).limits(0.1).T
        alone += ((low < 0) & (high > 0)).all()
    assert together / RUNS > 0.86
    assert together / RUNS < (0.94 if how == "max-t" else 1.0)
    assert alone / RUNS < 0.84  # the test can tell


def test_hidden_coefficients_do_not_widen_the_others():
    hidden, seen = made_up(hidden=("a",)), made_up()
    limits = every(hidden).limits(0.05, "bonferroni")
    assert np.isnan(limits[0]).all()
    two = TTest(Restrictions.of("b, intercept", seen.names), seen, "population").limits(0.05, "bonferroni")
    np.testing.assert_allclose(limits[1:], two)
    for how in ("max-t", "scheffe"):
        assert np.isfinite(every(hidden).limits(0.05, how)[1:]).all()


@pytest.mark.extras
def test_frames_have_names():
    pytest.importorskip("pandas")
    shown = t_test(made_up(estimate=(1.0, 2.0, 3.0), hidden=("a",)), "a = b, b = 2").summary_frame(0.1)
    assert list(shown.index) == ["a = b", "b = 2"]
    assert list(shown.columns) == ["coef", "std err", "t", "P>|t|", "lower", "upper"]
    assert shown.loc["a = b"].isna().all()
    assert shown.loc["b = 2", "t"] == 0.0
    limits = t_test(made_up(), "b = 2").conf_int(0.1)
    assert list(limits.columns) == ["lower", "upper"]


def test_the_covariance_has_the_standard_errors_on_its_diagonal():
    found = fitted(*table(5000)).inference_
    for target in ("population", "data"):
        np.testing.assert_allclose(np.sqrt(np.diag(found.covariance(target))), found.standard_errors(target))
        weights = np.array([[1.0, -2.0, 0.5], [3.0, 1.0, 1.0]])
        combined = np.diag(weights @ found.covariance(target) @ weights.T)
        np.testing.assert_allclose(np.sqrt(combined), found.of_combinations(weights, target=target)[0])


def test_text_fits_80_columns():
    text = str(t_test(made_up(estimate=(1.0, 2e9, 3.0)), "a = b, `b` + 2 * a + 3 * intercept - 17.25 = 4"))
    assert max(map(len, text.splitlines())) <= 80
    assert "a = b" in text
