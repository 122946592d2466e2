"""Laws of `rounded_wishart`: the rounded ideal Wishart matrix, in distribution and draw by draw."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from exact_fixtures import CountedBits, ScriptedBits, continued
from flint import arb, ctx
from scipy import stats

from dpols.exact.rounded_wishart import rounded_wishart
from dpols.randomness import SeededBits, SystemBits

REJECT, ACCEPT = 1e-6, 1e-3
DRAWS = 2000


def integer_rows(count: int, size: int, seed: int = 0) -> np.ndarray:
    """Correlated rows of uneven scale with entries below 2**20."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(count, size)) @ rng.normal(size=(size, size)) * np.geomspace(1, 30, size)
    return np.rint(mixed / np.abs(mixed).max() * 2**19).astype(np.int64)


def draws_of(
    gram: np.ndarray, *, shift: int, rows: int, grid_exponent: int, seed: int, count: int = DRAWS
) -> np.ndarray:
    bits = SeededBits(seed)
    return np.stack(
        [rounded_wishart(gram, shift=shift, rows=rows, grid_exponent=grid_exponent, bits=bits) for _ in range(count)]
    )


def explicit_sketches(data: np.ndarray, shift: int, rows: int, seed: int, count: int = DRAWS) -> np.ndarray:
    rng = np.random.default_rng(seed)
    stacked = np.concatenate([data, math.sqrt(shift) * np.eye(data.shape[1])])
    sketches = rng.normal(size=(count, rows, len(stacked))) @ stacked
    return sketches.transpose(0, 2, 1) @ sketches


@pytest.mark.parametrize("rows", [3, 4, 7, 12])
def test_draws_have_the_law_of_the_gram_matrix_of_an_explicit_sketch(rows):
    data, shift, grid_exponent = integer_rows(9, 3), 2**30, 16
    ours = draws_of(data.T @ data, shift=shift, rows=rows, grid_exponent=grid_exponent, seed=1) * 2.0**grid_exponent
    theirs = explicit_sketches(data, shift, rows, seed=2)
    statistics = [lambda w: np.trace(w, axis1=1, axis2=2), lambda w: np.linalg.slogdet(w)[1]]
    statistics += [lambda w, i=i, j=j: w[:, i, j] for i in range(3) for j in range(i + 1)]
    for statistic in statistics:
        assert stats.ks_2samp(statistic(ours), statistic(theirs)).pvalue > ACCEPT
    for wrong in (2 / 3, 3 / 2):
        assert stats.ks_2samp(statistics[0](ours * wrong), statistics[0](theirs)).pvalue < REJECT
        assert stats.ks_2samp(statistics[1](ours * wrong), statistics[1](theirs)).pvalue < REJECT


@pytest.mark.parametrize("rows", [1, 2])
def test_fewer_rows_than_columns_have_the_law_of_an_explicit_sketch(rows):
    data, shift, grid_exponent, count = integer_rows(9, 4), 2**30, 16, 2 * DRAWS
    drawn = draws_of(data.T @ data, shift=shift, rows=rows, grid_exponent=grid_exponent, seed=3, count=count)
    ours, theirs = drawn * 2.0**grid_exponent, explicit_sketches(data, shift, rows, seed=4, count=count)
    for i, j in [(0, 0), (3, 3), (1, 0), (3, 1)]:
        assert stats.ks_2samp(ours[:, i, j], theirs[:, i, j]).pvalue > ACCEPT
        assert stats.ks_2samp(ours[:, i, j] * 3 / 2, theirs[:, i, j]).pvalue < REJECT
    assert (np.linalg.matrix_rank(ours[:50], tol=1e-3 * np.trace(ours[0])) <= rows).all()


@pytest.mark.parametrize("rows", [2, 5, 6, 31])
def test_diagonal_entries_and_determinant_are_chi_squares(rows):
    data, shift, grid_exponent = integer_rows(30, 2), 12345, 4
    gram = data.T @ data
    parameter = gram + shift * np.eye(2, dtype=int)
    ours = draws_of(gram, shift=shift, rows=rows, grid_exponent=grid_exponent, seed=5) * 2.0**grid_exponent
    for i in range(2):
        ratio = ours[:, i, i] / parameter[i, i]
        assert stats.kstest(ratio, stats.chi2(rows).cdf).pvalue > ACCEPT
        assert stats.kstest(ratio * 3 / 2, stats.chi2(rows).cdf).pvalue < REJECT
        assert stats.kstest(ratio * 2 / 3, stats.chi2(rows).cdf).pvalue < REJECT
    # det(W) / det(A) is a product of independent chi-squares; with n and n - 1 degrees of freedom, twice its root is a
    # chi-square with 2 n - 2.
    root = 2 * np.sqrt(np.linalg.det(ours) / np.linalg.det(parameter))
    assert stats.kstest(root, stats.chi2(2 * rows - 2).cdf).pvalue > ACCEPT
    assert stats.kstest(root * 3 / 2, stats.chi2(2 * rows - 2).cdf).pvalue < REJECT


class Oracle:
    """The same draw, entry by entry, from `depth` known bits per uniform and without any matrix routine."""

    def __init__(self, words: np.ndarray, precision: int) -> None:
        self.precision = precision
        depth_words = precision // 128
        step = arb((1, -64 * depth_words))
        with ctx.workprec(precision):
            self.uniforms = [arb(continued(word, depth_words), 1) * step for word in words.tolist()]

    def normals(self, count: int) -> list[arb]:
        values = []
        for u, v in zip(self.uniforms[: count + count % 2 : 2], self.uniforms[1 : count + count % 2 : 2], strict=True):
            radius, angle = (-2 * u.log()).sqrt(), 2 * arb.pi() * v
            values += [radius * angle.cos(), radius * angle.sin()]
        return values[:count]

    def factor(self, size: int, rows: int) -> list[list[arb]]:
        if rows < size:
            values = self.normals(size * rows)
            return [values[i * rows : (i + 1) * rows] for i in range(size)]
        odd = sum((rows - i) % 2 for i in range(size))
        count = size * (size - 1) // 2 + odd
        normals, others = self.normals(count), self.uniforms[count + count % 2 :]
        table = []
        for i in range(size):
            chi_square = arb(0)
            for _ in range((rows - i) // 2):
                chi_square -= 2 * others.pop(0).log()
            if (rows - i) % 2:
                chi_square += normals.pop(0) ** 2
            table.append([normals.pop(0) for _ in range(i)] + [chi_square.sqrt()] + [arb(0)] * (size - i - 1))
        return table

    def wishart(self, parameter: list[list[int]], rows: int, grid_exponent: int) -> list[list[int]]:
        size = len(parameter)
        with ctx.workprec(self.precision):
            lower = cholesky(parameter)
            factor = self.factor(size, rows)
            half = [
                [dot(lower[i][: i + 1], [row[k] for row in factor]) for k in range(len(factor[0]))] for i in range(size)
            ]
            balls = [[dot(half[i], half[j]) * arb((1, -grid_exponent)) for j in range(size)] for i in range(size)]
            nearest = [[(ball + 0.5).floor().unique_fmpz() for ball in row] for row in balls]
        assert all(value is not None for row in nearest for value in row)
        return [[int(value) for value in row] for row in nearest]


def dot(left: list[arb], right: list[arb]) -> arb:
    return sum((a * b for a, b in zip(left, right, strict=False)), arb(0))


def cholesky(table: list[list[int]]) -> list[list[arb]]:
    lower: list[list[arb]] = []
    for i, row in enumerate(table):
        lower.append([])
        for j in range(i):
            lower[i].append((row[j] - dot(lower[i], lower[j])) / lower[j][j])
        lower[i].append((row[i] - dot(lower[i], lower[i])).sqrt())
    return lower


def uniforms_used(size: int, rows: int) -> int:
    source = CountedBits(0)
    rounded_wishart(np.eye(size, dtype=int), shift=0, rows=rows, grid_exponent=0, bits=source)
    return source.taken


def shifted(gram: np.ndarray, shift: int) -> list[list[int]]:
    return (gram.astype(object) + shift * np.eye(len(gram), dtype=int).astype(object)).tolist()


@pytest.mark.parametrize("grid_exponent", [24, 8, -40, -300])
@pytest.mark.parametrize(("size", "rows"), [(1, 1), (1, 6), (3, 3), (5, 2), (6, 11), (10, 60), (20, 45)])
def test_draws_are_the_oracles_whatever_the_grid(size, rows, grid_exponent):
    data, shift = integer_rows(3 * size, size), 2**25
    words = SeededBits(6).words(uniforms_used(size, rows))
    bits = ScriptedBits(words)
    drawn = rounded_wishart(data.T @ data, shift=shift, rows=rows, grid_exponent=grid_exponent, bits=bits)
    expected = Oracle(words, 2048).wishart(shifted(data.T @ data, shift), rows, grid_exponent)
    assert drawn.tolist() == expected
    assert bits.taken == len(words)


@pytest.mark.parametrize("extreme", [0, 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("rows", [2, 4, 9])
def test_extreme_words_are_the_oracles(rows, extreme):
    data, shift = integer_rows(12, 4), 2**22
    for place in range(uniforms_used(4, rows)):
        words = SeededBits(7).words(uniforms_used(4, rows))
        words[place] = extreme
        drawn = rounded_wishart(data.T @ data, shift=shift, rows=rows, grid_exponent=12, bits=ScriptedBits(words))
        assert drawn.tolist() == Oracle(words, 1024).wishart(shifted(data.T @ data, shift), rows, 12)


def test_many_draws_on_a_fine_grid_are_the_oracles():
    data, shift, source = integer_rows(20, 5), 2**22, SeededBits(8)
    for _ in range(200):
        words = source.words(uniforms_used(5, 8))
        drawn = rounded_wishart(data.T @ data, shift=shift, rows=8, grid_exponent=-12, bits=ScriptedBits(words))
        assert drawn.tolist() == Oracle(words, 1024).wishart(shifted(data.T @ data, shift), 8, -12)


@pytest.mark.parametrize(("scale", "shift"), [(1, 1), (2**60, 1), (2**200, 3)])
def test_rank_one_with_a_tiny_shift_is_the_oracles(scale, shift):
    vector = np.arange(1, 13).astype(object)
    gram = np.outer(vector, vector) * scale
    words = SeededBits(9).words(uniforms_used(12, 20))
    drawn = rounded_wishart(gram, shift=shift, rows=20, grid_exponent=-20, bits=ScriptedBits(words))
    assert drawn.tolist() == Oracle(words, 4096).wishart(shifted(gram, shift), 20, -20)


def test_singular_parameters_are_drawn_too():
    vector = np.array([3, 0, -5, 2])
    bits = SeededBits(10)
    ours = np.stack(
        [rounded_wishart(np.outer(vector, vector), shift=0, rows=6, grid_exponent=-30, bits=bits) for _ in range(1000)]
    ).astype(float)
    assert (ours[:, 1] == 0).all()
    assert np.allclose(ours / ours[:, :1, :1], np.outer(vector, vector) / 9, rtol=0, atol=1e-7)
    assert stats.kstest(ours[:, 2, 2] * 2.0**-30 / 25, stats.chi2(6).cdf).pvalue > ACCEPT


def test_a_basis_need_not_lead():
    data = integer_rows(2, 5)
    data[:, 0] = 0
    data[:, 2] = 3 * data[:, 1]
    source = CountedBits(11)
    ours = np.stack(
        [rounded_wishart(data.T @ data, shift=0, rows=7, grid_exponent=0, bits=source) for _ in range(1500)]
    ).astype(float)
    theirs = explicit_sketches(data, 0, 7, seed=12)
    assert source.taken == 1500 * uniforms_used(5, 7)
    for i, j in [(1, 1), (4, 4), (4, 1), (3, 2)]:
        assert stats.ks_2samp(ours[:, i, j], theirs[:, i, j]).pvalue > ACCEPT


def test_a_zero_parameter_gives_zeros_and_a_zero_gram_only_the_shift():
    zero = np.zeros((3, 3), dtype=int)
    for rows in (2, 5):
        assert (rounded_wishart(zero, shift=0, rows=rows, grid_exponent=0, bits=SeededBits(13)) == 0).all()
    ours = draws_of(zero, shift=2**20, rows=5, grid_exponent=0, seed=14)
    assert stats.kstest(np.trace(ours, axis1=1, axis2=2) / 2**20, stats.chi2(15).cdf).pvalue > ACCEPT


def test_words_taken_do_not_depend_on_the_data():
    data = integer_rows(30, 6)
    grams = [
        data.T @ data,
        np.zeros((6, 6), dtype=int),
        np.ones((6, 6), dtype=int),
        (data.T @ data).astype(object) << 80,
    ]
    for rows in (4, 6, 13):
        sources = [CountedBits(15) for _ in grams]
        for gram, source in zip(grams, sources, strict=True):
            rounded_wishart(gram, shift=1, rows=rows, grid_exponent=-64, bits=source)
        assert len({source.taken for source in sources}) == 1
        assert len({int(source.words(1)[0]) for source in sources}) == 1


def test_kind_of_integers_does_not_matter():
    data = integer_rows(9, 3)
    gram = data.T @ data
    kinds = [gram, gram.astype(object), gram.tolist(), np.asfortranarray(gram), gram.astype(np.uint64).astype(np.int64)]
    results = [rounded_wishart(kind, shift=5, rows=4, grid_exponent=3, bits=SeededBits(16)).tolist() for kind in kinds]
    assert all(result == results[0] for result in results)


def test_integers_are_machine_integers_when_they_fit():
    eye = np.eye(2, dtype=int)
    assert rounded_wishart(eye, shift=0, rows=3, grid_exponent=0, bits=SeededBits(1)).dtype == np.int64
    assert rounded_wishart(eye, shift=0, rows=3, grid_exponent=-80, bits=SeededBits(1)).dtype == object


def test_threads_that_share_the_precision_setting_draw_the_same_integers():
    data = integer_rows(40, 8)

    def draw(task: tuple[int, int]) -> list[list[int]]:
        grid_exponent, seed = task
        bits = SeededBits(seed)
        return rounded_wishart(data.T @ data, shift=7, rows=12, grid_exponent=grid_exponent, bits=bits).tolist()

    tasks = [(grid_exponent, seed) for grid_exponent in (20, -60, -500) for seed in range(10)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, tasks)) == [draw(task) for task in tasks]


def test_system_bits_differ_between_calls():
    eye = np.eye(4, dtype=int)
    a, b = (rounded_wishart(eye, shift=0, rows=5, grid_exponent=-50, bits=SystemBits()) for _ in range(2))
    assert not (a == b).any()


@pytest.mark.parametrize(
    "gram", [[[0, 1], [1, 0]], [[-1]], [[1, 2], [2, 1]], [[1, 1, 1], [1, 1, 0], [1, 0, 1]], [[0, 0], [0, -3]]]
)
def test_a_matrix_that_is_not_positive_semidefinite_is_refused(gram):
    with pytest.raises(ValueError, match="semidefinite"):
        rounded_wishart(gram, shift=0, rows=3, grid_exponent=0, bits=SeededBits(1))


def test_malformed_arguments_are_refused():
    good = {"shift": 1, "rows": 3, "grid_exponent": 0}
    for gram, changes, error in [
        ([[1, 2], [3, 4]], {}, ValueError),
        ([[1, 2]], {}, ValueError),
        ([[1.5]], {}, TypeError),
        ([[1]], {"shift": -1}, ValueError),
        ([[1]], {"rows": 0}, ValueError),
        ([[1]], {"shift": 0.5}, TypeError),
        ([[1]], {"rows": 2.0}, TypeError),
        ([[1]], {"grid_exponent": 0.5}, TypeError),
    ]:
        with pytest.raises(error):
            rounded_wishart(gram, **(good | changes), bits=SeededBits(1))
