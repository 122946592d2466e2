"""The paper's own lemmas on drawn matrices: where a lemma is misprinted, what holds instead.

Lemmas 1 to 3 are tested with the accountant (tests/privacy), Lemma 12 with the bounds that follow from it.
"""

import math

import numpy as np
import pytest

SEEDS = pytest.mark.parametrize("seed", range(5))


def drawn(seed, n=30, d=4):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * np.logspace(0.0, -1.0, d)
    return rng, A, A @ rng.standard_normal(d) + rng.standard_normal(n)


def loss(A, b, theta):
    return float(np.sum((b - A @ theta) ** 2))


def squared(vector, metric):
    return float(vector @ metric @ vector)


def distortion(B, A):
    """chi of the set A_1: twice the largest |u'(B'B / k - I) A v| / (|u| |A v|)."""
    basis = np.linalg.qr(A)[0]
    return 2.0 * float(np.linalg.norm(B.T @ (B @ basis) / len(B) - basis, 2))


def sketch_of(rng, A, most=0.5):
    """A sketch of A whose distortion is at most 1/2, as Lemma 10 needs."""
    B = rng.standard_normal((60 * len(A), len(A)))
    assert 0.0 < distortion(B, A) <= most
    return B


@SEEDS
def test_lemma_4_excess_risk_is_a_distance(seed):
    """The second norm is squared, too, which the paper does not print."""
    rng, A, b = drawn(seed)
    best, theta = np.linalg.lstsq(A, b, rcond=None)[0], rng.standard_normal(4)
    assert loss(A, b, theta) - loss(A, b, best) == pytest.approx(squared(theta - best, A.T @ A))


@SEEDS
@pytest.mark.parametrize("penalty", [0.0, 0.1, 10.0, 1e4])
def test_lemma_5_ridge_and_least_squares(seed, penalty):
    _, A, b = drawn(seed)
    metric = A.T @ A + penalty * np.eye(4)
    best, ridge = np.linalg.lstsq(A, b, rcond=None)[0], np.linalg.solve(metric, A.T @ b)
    assert squared(ridge - best, metric) <= penalty * float(best @ best) + 1e-9


@SEEDS
def test_lemma_6_the_step_is_a_minimum(seed):
    """The factor before the inverse is k; the paper prints 1 / k, under which the gradient does not vanish."""
    rng, A, b = drawn(seed)
    B, v, u = rng.standard_normal((12, 30)), rng.standard_normal(4), rng.standard_normal(4)
    sketched, pull = A.T @ B.T @ B @ A, A.T @ (b - A @ v) + u
    right, printed = v + 12.0 * np.linalg.solve(sketched, pull), v + np.linalg.solve(sketched, pull) / 12.0
    np.testing.assert_allclose(sketched @ (right - v) / 12.0 - pull, 0.0, atol=1e-9)
    assert np.abs(sketched @ (printed - v) / 12.0 - pull).max() > 1e-3


@pytest.mark.parametrize(("factor", "added", "start"), [(0.5, 1.0, 0.0), (0.9, 0.1, 7.0), (0.0, 2.0, 3.0)])
def test_lemma_7_a_recursion(factor, added, start):
    value = start
    for steps in range(1, 40):
        value = factor * value + added
        assert value <= added / (1.0 - factor) + start * factor**steps + 1e-12


@pytest.mark.parametrize("d", [1, 5, 50])
@pytest.mark.parametrize("failure", [0.5, 0.1, 0.01])
def test_lemma_9_norms_of_gaussian_vectors(d, failure):
    from scipy.stats import chi2

    assert chi2.sf((math.sqrt(2.0 * d) + math.sqrt(4.0 * math.log(1.0 / failure))) ** 2, d) <= failure**2


@SEEDS
def test_lemma_10_a_step_contracts(seed):
    rng, A, b = drawn(seed)
    best, start = np.linalg.lstsq(A, b, rcond=None)[0], rng.standard_normal(4)
    B, metric = sketch_of(rng, A), A.T @ A
    step = start + np.linalg.solve(A.T @ B.T @ B @ A / len(B), A.T @ (b - A @ start))
    assert squared(step - best, metric) <= distortion(B, A) ** 2 * squared(start - best, metric)


@SEEDS
def test_lemma_11_inverses_of_sketches(seed):
    rng, A, _ = drawn(seed)
    B, metric, v = sketch_of(rng, A), A.T @ A, rng.standard_normal(4)
    chi, inverse = distortion(B, A), np.linalg.inv(A.T @ B.T @ B @ A / len(B))
    for sign, bound in ((1.0, 1.0 / (1.0 - chi / 2.0)), (-1.0, 1.0 / (1.0 + chi / 2.0))):
        assert np.linalg.eigvalsh(sign * (bound * np.linalg.inv(metric) - inverse))[0] >= -1e-9
    smallest = np.linalg.eigvalsh(metric)[0]
    assert squared(inverse @ v, metric) <= float(v @ v) / smallest / (1.0 - chi / 2.0) ** 2


@SEEDS
@pytest.mark.parametrize("shift", [0.0, 1.0, 100.0])
def test_lemma_13_sketch_and_solve_with_noise(seed, shift):
    rng, A, b = drawn(seed)
    root = math.sqrt(shift)
    X = np.vstack((A, root * np.eye(4), np.zeros((1, 4))))
    y = np.concatenate((b, np.zeros(4), [root]))
    sketch = rng.standard_normal((4000, len(X)))
    theta = np.linalg.lstsq(sketch @ X, sketch @ y, rcond=None)[0]
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    # chi of Proposition 3: its set is that of [X, y].
    chi = min(1.0, distortion(sketch, np.column_stack((X, y))))
    bound = 3.0 * chi * (shift + loss(A, b, best)) + 4.0 * shift * float(best @ best)
    assert loss(A, b, theta) - loss(A, b, best) <= bound
