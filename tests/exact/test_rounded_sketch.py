"""Laws of `rounded_sketch`: rounded ideal draws from N(0, gram + shift I), in distribution and draw by draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exact_fixtures import CountedBits, ScriptedBits, continued
from flint import arb, ctx
from scipy import stats

from dpols.exact.rounded_sketch import rounded_sketch
from dpols.randomness import SeededBits, SystemBits

REJECT, ACCEPT = 1e-6, 1e-3


def integer_rows(count: int, size: int) -> np.ndarray:
    """Correlated rows of uneven scale with entries below 2**20."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(count, size)) @ rng.normal(size=(size, size)) * np.geomspace(1, 30, size)
    return np.rint(mixed / np.abs(mixed).max() * 2**19).astype(np.int64)


def by_hand(parameter: np.ndarray, words: np.ndarray, rows: int, grid_exponent: int) -> list[list[int]]:
    """The same draw, entry by entry, from 1024 known bits per uniform and without any matrix routine."""
    size = len(parameter)
    with ctx.workprec(2048):
        uniforms = [arb(continued(word, 16), 1) * arb((1, -1024)) for word in words.tolist()]
        normals = []
        for u, v in zip(uniforms[::2], uniforms[1::2], strict=True):
            radius, angle = (-2 * u.log()).sqrt(), 2 * arb.pi() * v
            normals += [radius * angle.cos(), radius * angle.sin()]
        lower: list[list[arb]] = []
        for i in range(size):
            lower.append([])
            for j in range(i):
                known = sum((lower[i][k] * lower[j][k] for k in range(j)), arb(0))
                lower[i].append((int(parameter[i, j]) - known) / lower[j][j])
            lower[i].append((int(parameter[i, i]) - sum((value**2 for value in lower[i]), arb(0))).sqrt())
        step = arb((1, -grid_exponent))
        table = []
        for row in range(rows):
            z = normals[row * size : (row + 1) * size]
            entries = [sum((lower[i][k] * z[k] for k in range(i + 1)), arb(0)) * step for i in range(size)]
            table.append([(entry + 0.5).floor().unique_fmpz() for entry in entries])
    return [[int(value) for value in row] for row in table]


@pytest.mark.parametrize("grid_exponent", [12, 0, -40, -200])
@pytest.mark.parametrize(("size", "rows"), [(1, 1), (1, 5), (3, 3), (5, 2), (4, 9)])
def test_draws_are_those_by_hand_whatever_the_grid(size, rows, grid_exponent):
    data, shift = integer_rows(3 * size, size), 2**25
    gram = data.T @ data
    count = size * rows + size * rows % 2
    words = SeededBits(6).words(count)
    bits = ScriptedBits(words)
    drawn = rounded_sketch(gram, shift=shift, rows=rows, grid_exponent=grid_exponent, bits=bits)
    assert drawn.tolist() == by_hand(gram + shift * np.eye(size, dtype=int), words, rows, grid_exponent)
    assert bits.taken == count


@pytest.mark.parametrize("extreme", [0, 1, 2**63, 2**64 - 1])
def test_extreme_words_are_those_by_hand(extreme):
    data, shift = integer_rows(9, 3), 2**22
    gram = data.T @ data
    for place in range(6):
        words = SeededBits(7).words(6)
        words[place] = extreme
        drawn = rounded_sketch(gram, shift=shift, rows=2, grid_exponent=0, bits=ScriptedBits(words))
        assert drawn.tolist() == by_hand(gram + shift * np.eye(3, dtype=int), words, 2, 0)


def test_rows_are_normal_with_the_stated_covariance_and_independent():
    data, shift, rows = integer_rows(9, 3), 2**30, 20_000
    parameter = data.T @ data + shift * np.eye(3, dtype=int)
    drawn = rounded_sketch(data.T @ data, shift=shift, rows=rows, grid_exponent=4, bits=SeededBits(1)) * 16.0
    white = np.linalg.solve(np.linalg.cholesky(parameter.astype(float)), drawn.T)
    for column in white:
        assert stats.kstest(column, stats.norm.cdf).pvalue > ACCEPT
        for wrong in (math.sqrt(2 / 3), math.sqrt(3 / 2)):
            assert stats.kstest(wrong * column, stats.norm.cdf).pvalue < REJECT
    covariance = white @ white.T / rows
    assert np.abs(covariance - np.eye(3)).max() < 5 * math.sqrt(2 / rows)
    lagged = white[:, 1:] @ white[:, :-1].T / rows
    assert np.abs(lagged).max() < 5 / math.sqrt(rows)


def test_singular_parameters_are_drawn_too():
    vector = np.array([3, 0, -5, 2])
    drawn = rounded_sketch(np.outer(vector, vector), shift=0, rows=2000, grid_exponent=-30, bits=SeededBits(2))
    ratio = drawn.astype(float) * 2.0**-30
    assert (drawn[:, 1] == 0).all()
    assert np.allclose(ratio, np.outer(ratio[:, 0] / 3, vector), rtol=0, atol=1e-8)
    assert stats.kstest(ratio[:, 2] / 5, stats.norm.cdf).pvalue > ACCEPT
    assert (
        rounded_sketch(np.zeros((3, 3), dtype=int), shift=0, rows=4, grid_exponent=0, bits=SeededBits(3)) == 0
    ).all()


def test_words_taken_do_not_depend_on_the_data():
    data = integer_rows(12, 3)
    grams = [data.T @ data, np.zeros((3, 3), dtype=int), (data.T @ data).astype(object) << 80]
    sources = [CountedBits(4) for _ in grams]
    for gram, source in zip(grams, sources, strict=True):
        rounded_sketch(gram, shift=1, rows=5, grid_exponent=-64, bits=source)
    assert {source.taken for source in sources} == {16}
    assert len({int(source.words(1)[0]) for source in sources}) == 1


def test_system_bits_differ_between_calls():
    eye = np.eye(4, dtype=int)
    a, b = (rounded_sketch(eye, shift=0, rows=5, grid_exponent=-50, bits=SystemBits()) for _ in range(2))
    assert not (a == b).any()


def test_integers_are_machine_integers_when_they_fit():
    eye = np.eye(2, dtype=int)
    assert rounded_sketch(eye, shift=0, rows=3, grid_exponent=0, bits=SeededBits(1)).dtype == np.int64
    assert rounded_sketch(eye, shift=0, rows=3, grid_exponent=-80, bits=SeededBits(1)).dtype == object


def test_malformed_arguments_are_refused():
    good = {"shift": 1, "rows": 3, "grid_exponent": 0}
    for gram, changes, error in [
        ([[1, 2], [3, 4]], {}, ValueError),
        ([[0, 1], [1, 0]], {"shift": 0}, ValueError),
        ([[1.5]], {}, TypeError),
        ([[1]], {"shift": -1}, ValueError),
        ([[1]], {"rows": 0}, ValueError),
        ([[1]], {"rows": 2.0}, TypeError),
        ([[1]], {"grid_exponent": 0.5}, TypeError),
    ]:
        with pytest.raises(error):
            rounded_sketch(gram, **(good | changes), bits=SeededBits(1))
