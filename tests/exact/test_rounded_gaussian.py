"""Laws of `rounded_gaussian`: the rounded ideal normal, in distribution and draw by draw."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from exact_fixtures import CountedBits, ScriptedBits, continued
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpols.exact import extended
from dpols.exact.rounded_gaussian import _PAIRS_PER_BLOCK, rounded_gaussian
from dpols.randomness import SeededBits, SystemBits

REJECT, ACCEPT = 1e-6, 1e-3
EDGES = [0, 1, 2, 2**40 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 2**53 - 1, 2**64 - 2**53, 2**64 - 2, 2**64 - 1]


def oracle(radial: int, angular: int, scale: Fraction) -> tuple[int, int]:
    """round(scale * z) from 512 bits of each uniform beyond the scale's, without any shortcut."""
    words = 8 + math.ceil(scale).bit_length() // 64
    with ctx.workprec(2 * 64 * words):
        u, v = (arb(continued(word, words), 1) * arb((1, -64 * words)) for word in (radial, angular))
        radius = (-2 * u.log()).sqrt() * arb(fmpq(scale.numerator, scale.denominator))
        angle = 2 * arb.pi() * v
        nearest = [(radius * f + 0.5).floor().unique_fmpz() for f in (angle.cos(), angle.sin())]
        assert None not in nearest
        return int(nearest[0]), int(nearest[1])


def words_next_to_boundaries(scale: float, count: int, seed: int) -> np.ndarray:
    """Pairs of words whose first member lies as close to a half-integer as 64 bits allow."""
    rng = np.random.default_rng(seed)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < count:
        angular = int(rng.integers(0, 2**64, dtype=np.uint64))
        half_integer = arb(int(rng.normal() * scale)) + 0.5
        with ctx.workprec(400):
            normal = half_integer / arb(scale)
            u = (-((normal / (2 * arb((2 * angular + 1, -65))).cos_pi()) ** 2) / 2).exp()
            word = int((u * arb(2) ** 64).floor().unique_fmpz())
        pairs += [(word + step, angular) for step in (-1, 0, 1) if 0 < word + step < 2**64]
    return np.array(pairs[:count], dtype=object).T.astype(np.uint64)


def cell_probabilities(scale: float, cells: np.ndarray) -> np.ndarray:
    return np.diff(stats.norm.cdf(np.concatenate([[-np.inf], cells + 0.5, [np.inf]]) / scale))


def fit(draws: np.ndarray, scale: float) -> float:
    """p-value of Pearson's test of the draws against the exact cell probabilities."""
    limit = max(1, int(3 * scale))
    cells = np.arange(-limit, limit)
    observed = np.bincount(np.searchsorted(cells, draws), minlength=len(cells) + 1)
    expected = cell_probabilities(scale, cells) * len(draws)
    return float(stats.chisquare(observed, expected).pvalue)


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5, 20.0])
def test_cells_have_their_exact_probabilities_and_other_scales_are_rejected(scale):
    draws = rounded_gaussian(scale, 200_000, bits=SeededBits(1))
    assert fit(draws, scale) > ACCEPT
    assert fit(draws, scale * 2 / 3) < REJECT
    assert fit(draws, scale * 3 / 2) < REJECT


@pytest.mark.parametrize("scale", [2.0**10, 2.0**30, 2.0**45, 2.0**60])
def test_wide_noise_is_gaussian_and_other_scales_are_rejected(scale):
    draws = rounded_gaussian(scale, 20_000, bits=SeededBits(2)).astype(float) / scale
    assert stats.kstest(draws, "norm").pvalue > ACCEPT
    assert stats.kstest(draws * 3 / 2, "norm").pvalue < REJECT
    assert stats.kstest(draws * 2 / 3, "norm").pvalue < REJECT


def test_the_two_members_of_a_pair_are_independent():
    first, second = rounded_gaussian(2.0**30, (2, 100_000), bits=SeededBits(3)) / 2.0**30
    for a, b in [(first, second), (np.abs(first), np.abs(second)), (first**2, second), (np.abs(first), second)]:
        assert abs(stats.pearsonr(a, b)[0]) < 4 / math.sqrt(len(first))
    assert stats.kstest(first * second, product_cdf).pvalue > ACCEPT


def product_cdf(x: np.ndarray) -> np.ndarray:
    """The distribution function of the product of two independent standard normals."""
    grid = np.linspace(-8, 8, 4001)
    weights = stats.norm.pdf(grid) * (grid[1] - grid[0])
    table_at = np.linspace(-12, 12, 2001)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(grid == 0, np.inf * np.sign(table_at)[:, None], table_at[:, None] / np.abs(grid))
    table = np.nan_to_num(stats.norm.cdf(ratio), nan=0.5) @ weights
    return np.interp(x, table_at, table)


@pytest.mark.parametrize(
    ("scale", "pairs"),
    [
        (1e-3, 2000),
        (0.5, 5000),
        (3.0, 5000),
        (2.0**20, 10_000),
        (2.0**30, 20_000),
        (2.0**38, 3000),
        (2.0**45, 6000),
        (Fraction(2**49, 3), 3000),
        (2.0**53, 3000),
        (2.0**60, 3000),
        (Fraction(10, 3), 3000),
        (Fraction(2**70, 7), 2000),
    ],
)
def test_every_draw_is_the_oracles(scale, pairs):
    words = SeededBits(4).words(2 * pairs).reshape(2, pairs)
    drawn = rounded_gaussian_of(words, scale)
    assert drawn == [oracle(*pair, Fraction(scale)) for pair in words.T.tolist()]


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 2.0**30, 2.0**44, 2.0**53, 2.0**60, 2.0**1000, Fraction(2**1100, 3)])
def test_extreme_words_are_the_oracles(scale):
    words = np.array([(a, b) for a in EDGES for b in EDGES], dtype=np.uint64).T
    assert rounded_gaussian_of(words, scale) == [oracle(*pair, Fraction(scale)) for pair in words.T.tolist()]


@pytest.mark.parametrize("scale", [0.5, 3.0, 1000.0, 2.0**20, 2.0**30, 2.0**36])
def test_words_next_to_rounding_boundaries_are_the_oracles(scale):
    words = words_next_to_boundaries(scale, 3000, seed=5)
    assert rounded_gaussian_of(words, scale) == [oracle(*pair, Fraction(scale)) for pair in words.T.tolist()]


@given(
    words=st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=40).filter(lambda words: len(words) % 2 == 0),
    scale=st.fractions(min_value=Fraction(1, 1000), max_value=2**80),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_words_and_any_scale_are_the_oracles(words, scale):
    pairs = np.array(words, dtype=np.uint64).reshape(2, -1)
    assert rounded_gaussian_of(pairs, scale) == [oracle(*pair, scale) for pair in pairs.T.tolist()]


def rounded_gaussian_of(words: np.ndarray, scale: Fraction | float) -> list[tuple[int, int]]:
    pairs = words.shape[1]
    blocks = [words[:, i : i + _PAIRS_PER_BLOCK].ravel() for i in range(0, pairs, _PAIRS_PER_BLOCK)]
    draws = rounded_gaussian(scale, (2, pairs), bits=ScriptedBits(np.concatenate(blocks)))
    return list(zip(*draws.tolist(), strict=True))


def test_double_precision_functions_are_far_better_than_assumed():
    rng = np.random.default_rng(6)
    inner = (rng.integers(2**40, 2**64 - 2**53, 3000, dtype=np.uint64) + 0.5) * 2.0**-64
    powers = 2.0 ** -rng.uniform(2.0**-11, 24, 3000)
    ends = np.nextafter([2.0**-24, 1 - 2.0**-11, 0.5, np.sqrt(0.5)], 1)
    arguments = np.concatenate([inner, powers, ends])
    angles = 2 * np.pi * np.concatenate([arguments, np.arange(17) / 16, 2.0 ** -np.arange(1.0, 64)])
    with ctx.workprec(200):
        for value, log in zip(arguments.tolist(), np.log(arguments).tolist(), strict=True):
            assert abs(arb(log) / arb(value).log() - 1) < 2.0**-49
        for angle, cosine, sine in zip(angles.tolist(), np.cos(angles).tolist(), np.sin(angles).tolist(), strict=True):
            assert abs(arb(angle).cos() - cosine) < 2.0**-50
            assert abs(arb(angle).sin() - sine) < 2.0**-50


def test_extended_precision_is_far_better_than_assumed():
    if not extended.is_sound():
        pytest.skip("this machine has no extended precision")
    rng = np.random.default_rng(7)
    words = rng.integers(1, 2**63, 3000, dtype=np.uint64) >> rng.integers(0, 62, 3000, dtype=np.uint64)
    below_half = words.astype(np.longdouble) * np.longdouble(2.0**-64)
    angles = np.longdouble(2.0) * np.pi * rng.random(3000).astype(np.longdouble)
    with ctx.workprec(200):
        for function, arguments in [("log", below_half[below_half > 0]), ("log1p", -below_half)]:
            for value, found in zip(arguments, getattr(np, function)(arguments), strict=True):
                true = getattr(arb, function)(extended._ball(value))
                assert abs(extended._ball(found) - true) <= 2.0**-61 * abs(true)
        for function in ("sin", "cos"):
            for value, found in zip(angles, getattr(np, function)(angles), strict=True):
                assert abs(extended._ball(found) - getattr(arb, function)(extended._ball(value))) < 2.0**-61


def test_draws_are_the_same_without_extended_precision(monkeypatch):
    scales = (2.0**39, 2.0**45, 2.0**53)
    expected = [rounded_gaussian(scale, 500, bits=SeededBits(8)).tolist() for scale in scales]
    monkeypatch.setattr(extended, "is_sound", lambda: False)
    assert [rounded_gaussian(scale, 500, bits=SeededBits(8)).tolist() for scale in scales] == expected


def test_words_taken_depend_on_the_shape_only():
    for shape in [(), 1, 2, 7, (3, 5), 2 * _PAIRS_PER_BLOCK + 3, 0]:
        sources = [CountedBits(7) for _ in range(4)]
        for scale, source in zip([1e-3, 1.0, 2.0**39, 2.0**70], sources, strict=True):
            rounded_gaussian(scale, shape, bits=source)
        count = int(np.prod(shape))
        assert {source.taken for source in sources} == {count + count % 2}
        assert len({int(source.words(1)[0]) for source in sources}) == 1


def test_a_seed_determines_the_draws():
    for scale in (1.0, 2.0**37, 2.0**70):
        a, b, c = (rounded_gaussian(scale, (50, 3), bits=SeededBits(seed)) for seed in (8, 8, 9))
        assert a.shape == (50, 3)
        assert (a == b).all()
        assert not (a == c).all()


def test_system_bits_differ_between_calls():
    a, b = (rounded_gaussian(2.0**40, 100, bits=SystemBits()) for _ in range(2))
    assert not (a == b).any()


def test_threads_that_share_the_precision_setting_draw_the_same_integers():
    def draw(task: tuple[float, int]) -> list[int]:
        return rounded_gaussian(task[0], 400, bits=SeededBits(task[1])).tolist()

    tasks = [(scale, seed) for scale in (2.0**36, 2.0**60, 2.0**300) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, tasks)) == [draw(task) for task in tasks]


def test_integers_are_machine_integers_while_the_scale_allows_it():
    assert rounded_gaussian(2.0**53, 4, bits=SeededBits(1)).dtype == np.int64
    assert rounded_gaussian(2.0**54, 4, bits=SeededBits(1)).dtype == object
    assert rounded_gaussian(5.0, (0, 3), bits=SeededBits(1)).shape == (0, 3)


@pytest.mark.parametrize("scale", [0, -1.0, math.nan, math.inf])
def test_a_scale_that_is_not_positive_is_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        rounded_gaussian(scale, 3, bits=SeededBits(1))
