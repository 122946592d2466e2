"""What a fit says of itself: the privacy noise in its coefficients, and its gain over a constant, are about right."""

import numpy as np
import pytest
from method_problems import bounded, easy_problem, loss, plan_of

from dpols.algorithms import ALGORITHMS
from dpols.randomness import streams

TRIALS = 300
SETTINGS = {
    "whitened": (0.5, {}),
    "whitened-inference": (0.5, {}),
    "ihm": (1.0, {"n_iterations": 5, "sketch_size": 400}),
    "ihm-adaptive": (1.0, {}),
    "linmix": (1.0, {"sketch_size": 200}),
    "linmix-dynamic": (4.0, {}),
    "sheffet": (1.0, {"sketch_size": 200}),
    "adassp": (0.2, {}),
    "boosted-adassp": (0.5, {}),
    "dp-gd": (0.3, {"n_iterations": 20, "learning_rate": 1.0}),
}


@pytest.fixture(scope="module", params=SETTINGS)
def judged(request):
    """A method, and for many trials its coefficients, the loss changes that they bring and its own evidence."""
    method = request.param
    X, y = easy_problem(5000, 4)
    epsilon, options = SETTINGS[method]
    trials = TRIALS if method != "ihm-adaptive" else 60
    plan = plan_of(method, epsilon, n_rows=len(X), n_features=4, **options)
    fit = ALGORITHMS[method].run(bounded(X, y), plan, streams(5, trials))
    evidence = [ALGORITHMS[method].evidence(plan, fit, trial, None) for trial in range(trials)]
    changes = np.array([loss(X, y, theta) for theta in fit.theta]) - loss(X, y, np.zeros(4))
    return method, fit.theta, changes, evidence


def test_the_stated_noise_is_that_of_repeated_runs(judged):
    method, thetas, _, evidence = judged
    stated = np.sqrt(np.mean([np.diag(e.noise_covariance) for e in evidence], axis=0))
    measured = thetas.std(axis=0)
    # Gradient descent releases no curvature, and so can only bound what is left of early noise.
    most = 4.0 if method == "dp-gd" else 1.6
    assert (stated > measured / 1.4).all()
    assert (stated < most * measured).all()


def test_the_stated_gain_is_within_its_stated_spread(judged):
    method, _, changes, evidence = judged
    stated = np.array([e.risk_change for e in evidence])
    spread = np.array([e.risk_change_stddev for e in evidence])
    scores = (stated - changes) / spread
    if method == "dp-gd":
        # Its last step counts with the largest curvature that rows can have, so that it errs on the safe side.
        assert scores.mean() > -0.5
        assert (scores < -3.0).mean() < 0.02
    else:
        assert abs(scores.mean()) < 1.0
        assert 0.3 < scores.std() < 1.6
        assert (np.abs(scores) > 4.0).mean() < 0.02


def test_a_clear_gain_is_seen(judged):
    _, _, _, evidence = judged
    clear = [e.risk_change + 2.0 * e.risk_change_stddev < 0.0 for e in evidence]
    assert np.mean(clear) > 0.9


@pytest.mark.parametrize("method", SETTINGS)
def test_without_a_signal_no_gain_is_claimed(method):
    rng = np.random.default_rng(3)
    X, _ = easy_problem(500, 4)
    y = rng.choice([-1.0, 1.0], 500)
    epsilon, options = SETTINGS[method]
    plan = plan_of(method, 0.2 * epsilon, n_rows=500, n_features=4, **options)
    fit = ALGORITHMS[method].run(bounded(X, y), plan, streams(6, 60))
    evidence = [ALGORITHMS[method].evidence(plan, fit, trial, None) for trial in range(60)]
    claimed = [e.risk_change + 2.0 * e.risk_change_stddev < 0.0 for e in evidence]
    assert np.mean(claimed) <= 0.1
