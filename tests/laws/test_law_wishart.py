"""Law 7: the Gram matrix that is drawn has the law of the explicit sketch S X + sqrt(shift) Xi."""

import math
from itertools import product

import numpy as np
import pytest
from law_oracles import explicit_sketch
from scipy import stats

from dpols.mechanisms import Channel
from dpols.randomness import streams
from dpols.statistics import Statistic

TRIALS = {"float": 4000, "exact": 1500}
ACCEPT, REJECT = 1e-4, 1e-6
DIRECTION = np.array([0.5, -0.1, 0.4, 0.75])

# Each is of a stack of sketches, and of how many of their eigenvalues are not zero.
FUNCTIONALS = {
    "trace": lambda W, rank: np.trace(W, axis1=1, axis2=2),
    "largest eigenvalue": lambda W, rank: np.linalg.eigvalsh(W)[:, -1],
    "smallest positive eigenvalue": lambda W, rank: np.linalg.eigvalsh(W)[:, -rank],
    "product of positive eigenvalues": lambda W, rank: np.linalg.eigvalsh(W)[:, -rank:].prod(axis=1),
    "corner": lambda W, rank: W[:, 3, 3],
    "off-diagonal": lambda W, rank: W[:, 0, 3],
    "direction": lambda W, rank: np.einsum("i,tij,j->t", DIRECTION, W, DIRECTION),
    "ratio of corners": lambda W, rank: W[:, 0, 0] / W[:, 3, 3],
}
SHAPES = {"more rows than columns": 9, "as many": 4, "fewer": 2, "one": 1}
FLOOR = 7.0
SHIFT = FLOOR - 1.0


def data():
    """Rows of norm at most 1, more in some directions than in others, so that shift and data both count."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 4)) * [1.0, 0.7, 0.4, 0.2]
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))


@pytest.fixture(scope="module", params=product(["float", "exact"], SHAPES), ids=" ".join)
def sketches(request):
    """Drawn Gram matrices, explicit ones, explicit ones with a wrong shift by its name, and their rank."""
    arithmetic, shape = request.param
    rows, X = SHAPES[shape], data()
    gram = Statistic(X.T @ X, 1.0)
    if arithmetic == "exact":
        gram = Statistic(np.rint(2.0**40 * gram.value).astype(np.int64), 2.0**40, 2.0**-40)
    trials = TRIALS[arithmetic]
    drawn = Channel(streams(11, trials)).mix_gram(gram, rows=rows, floor=FLOOR).gram
    rng = np.random.default_rng(6)

    def explicit(shift):
        half = explicit_sketch(X, trials=trials, rows=rows, shift=shift, rng=rng)
        return half.swapaxes(1, 2) @ half

    wrong = {"shift^2": SHIFT**2, "sqrt(shift)": math.sqrt(SHIFT), "half the floor": FLOOR / 2 - 1.0, "none": 0.0}
    return drawn, explicit(SHIFT), {name: explicit(shift) for name, shift in wrong.items()}, min(rows, 4)


@pytest.mark.parametrize("functional", FUNCTIONALS.values(), ids=FUNCTIONALS)
def test_the_drawn_gram_matrix_has_the_law_of_the_explicit_sketch(functional, sketches):
    drawn, explicit, _, rank = sketches
    assert stats.ks_2samp(functional(drawn, rank), functional(explicit, rank)).pvalue > ACCEPT


@pytest.mark.parametrize("which", ["shift^2", "sqrt(shift)", "half the floor", "none"])
def test_an_explicit_sketch_with_a_wrong_shift_is_told_apart(which, sketches):
    drawn, _, wrong, rank = sketches
    for name in ("trace", "corner", "largest eigenvalue"):
        p_value = stats.ks_2samp(FUNCTIONALS[name](drawn, rank), FUNCTIONALS[name](wrong[which], rank)).pvalue
        if p_value < REJECT:
            return
    pytest.fail(f"no functional sees a shift of {which}")


@pytest.mark.parametrize("factor", [2.0 / 3.0, 3.0 / 2.0])
def test_a_wrong_scale_is_told_apart(factor, sketches):
    drawn, explicit, _, rank = sketches
    trace = FUNCTIONALS["trace"]
    assert stats.ks_2samp(trace(factor * drawn, rank), trace(explicit, rank)).pvalue < REJECT


def test_the_drawn_gram_matrix_has_the_mean_and_variance_of_the_explicit_sketch(sketches):
    drawn, explicit, _, _ = sketches
    spread = explicit.std(axis=0)
    assert (np.abs(drawn.mean(axis=0) - explicit.mean(axis=0)) < 5.0 * spread * math.sqrt(2.0 / len(drawn))).all()
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.15)
