"""Law 8: the same seed gives the same result, alone or in a batch; frozen numbers show that moves are only moves."""

from dataclasses import replace

import numpy as np
import pytest
from law_cases import CASES, bounded, every_arithmetic, every_case, every_method, problem
from law_frozen import FROZEN

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.randomness import streams


def run(case, arithmetic, bits):
    X, y = problem(case.n_rows, case.n_features)
    return case.algorithm.run(bounded(X, y, arithmetic=arithmetic), case.plan(), bits)


_BATCHES = {}  # of three trials, by case and arithmetic


def batch_of(case, arithmetic):
    """A seeded run of three trials, made once."""
    key = str(case), arithmetic
    if key not in _BATCHES:
        _BATCHES[key] = run(case, arithmetic, streams(7, 3))
    return _BATCHES[key]


def frozen_problem():
    """Rows without any generator, so that they are the same on every version of numpy."""
    i = np.arange(400.0)[:, None]
    X = 0.5 * np.sin((i + 1.0) * np.array([0.37, 1.11, 2.03, 2.77]))
    return X, np.clip(X @ [0.9, -0.6, 0.3, 0.1] + 0.1 * np.cos(3.1 * i[:, 0]), -1.0, 1.0)


def assert_same_fit(one, other, rtol):
    assert (one.releases, one.stages) == (other.releases, other.stages)
    assert one.transcript.keys() == other.transcript.keys()
    np.testing.assert_allclose(one.theta, other.theta, rtol=rtol, atol=rtol * np.abs(other.theta).max())
    for name in one.transcript:
        a, b = one.transcript[name], other.transcript[name]
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.nanmax(np.abs(b), initial=0.0))


def trial_of(batch, j):
    """One trial of a batch as a fit of its own."""
    one = slice(j, j + 1)
    return replace(
        batch,
        theta=batch.theta[one],
        releases=batch.releases if batch.stages is None else sum(batch.stages[j], ()),
        stages=None if batch.stages is None else batch.stages[one],
        transcript={name: values[one] for name, values in batch.transcript.items()},
    )


@every_arithmetic
@every_case
def test_a_trial_of_a_batch_is_the_single_run_with_its_stream(case, arithmetic):
    batch = batch_of(case, arithmetic)
    for j in (0, 2):
        alone = run(case, arithmetic, streams(7, 3)[j : j + 1])
        one = trial_of(batch, j)
        assert_same_fit(one, alone, 1e-9 if arithmetic == "float" else 0.0)


@every_arithmetic
@every_case
def test_the_same_seed_gives_the_same_bits(case, arithmetic):
    one, other = batch_of(case, arithmetic), run(case, arithmetic, streams(7, 3))
    np.testing.assert_array_equal(one.theta, other.theta)


@every_arithmetic
@every_case
def test_a_stream_does_not_depend_on_how_many_there_are(case, arithmetic):
    few, many = batch_of(case, arithmetic), run(case, arithmetic, streams(7, 4))
    np.testing.assert_allclose(few.theta, many.theta[:3], rtol=1e-9 if arithmetic == "float" else 0.0)


@every_arithmetic
@every_case
def test_different_seeds_and_different_streams_give_different_results(case, arithmetic):
    thetas = np.concatenate([batch_of(case, arithmetic).theta, run(case, arithmetic, streams(0, 2)).theta])
    assert len(np.unique(thetas, axis=0)) == 5
    assert (np.ptp(thetas, axis=0) > 0).all()


@every_arithmetic
@every_case
def test_unseeded_runs_differ_from_each_other(case, arithmetic):
    thetas = np.concatenate([run(case, arithmetic, streams(None, 2)).theta for _ in range(2)])
    assert len(np.unique(thetas, axis=0)) == 4


@pytest.mark.parametrize("method", ALGORITHMS)
def test_estimators_without_a_seed_differ_and_with_one_agree(method):
    X, y = problem()
    bounds = Bounds(x_norm=1.0, y_abs=1.0)
    unseeded = [PrivateLinearRegression(1.0, 1e-6, bounds, method=method).fit(X, y).coef_ for _ in range(3)]
    assert len(np.unique(unseeded, axis=0)) == 3
    seeded = [
        PrivateLinearRegression(1.0, 1e-6, bounds, method=method, random_state=5).fit(X, y).coef_ for _ in range(3)
    ]
    assert len(np.unique(seeded, axis=0)) == 1
    assert not np.array_equal(seeded[0], unseeded[0])


def test_every_algorithm_and_accounting_has_its_frozen_numbers():
    assert set(FROZEN) == {
        (str(case), arithmetic) for case in CASES if not case.options for arithmetic in ("float", "exact")
    }


@every_arithmetic
@every_method
def test_a_seeded_run_gives_the_frozen_numbers(case, arithmetic):
    X, y = frozen_problem()
    fit = case.algorithm.run(bounded(X, y, arithmetic=arithmetic), case.plan(epsilon=20.0, delta=1e-5), streams(7, 1))
    np.testing.assert_allclose(fit.theta[0], FROZEN[str(case), arithmetic], rtol=1e-6)


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_a_numpy_generator_is_a_seed_and_moves_on(kind):
    X, y = problem()
    model = PrivateLinearRegression(1.0, 1e-6, Bounds(x_norm=1.0, y_abs=1.0), random_state=kind(3))
    first, second = model.fit(X, y).coef_, model.fit(X, y).coef_
    assert not np.array_equal(first, second)
    again = model.set_params(random_state=kind(3)).fit(X, y)
    np.testing.assert_array_equal(again.coef_, first)
    assert again.privacy_report_.seeded
