"""Where random bits come from: the system, every time, unless a seed is given, which the report then says."""

import json
import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.errors import ParameterError
from dpols.mechanisms import Channel
from dpols.randomness import (
    SeededBits,
    SystemBits,
    WatchedBits,
    Witness,
    announce_release,
    chi_square,
    standard_normal,
    streams,
)
from dpols.statistics import Statistic

BOUNDS = Bounds(x_norm=1.0, y_abs=1.0)
every_arithmetic = pytest.mark.parametrize("arithmetic", ["float", "exact"])


def table():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 3))
    return X, X @ [0.5, -0.3, 0.2]


def fit(arithmetic="float", random_state=None, method="ihm"):
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS, method=method, arithmetic=arithmetic, random_state=random_state)
    return model.fit(*table())


def coefficients(arithmetic):
    return fit(arithmetic).coef_.tolist()


@pytest.fixture
def asked(monkeypatch):
    """How many bytes the system was asked for, call by call."""
    asked, urandom = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or urandom(count))
    return asked


@every_arithmetic
@pytest.mark.parametrize("method", ALGORITHMS)
def test_without_a_seed_all_bits_come_from_the_system(method, arithmetic, asked, monkeypatch):
    monkeypatch.setattr(SeededBits, "words", None)
    report = fit(arithmetic, method=method).privacy_report_
    assert sum(asked) >= 8
    assert report.private
    assert not report.seeded


@every_arithmetic
@pytest.mark.parametrize("method", ALGORITHMS)
def test_with_a_seed_no_bit_comes_from_the_system_and_the_report_says_so(method, arithmetic, asked):
    report = fit(arithmetic, random_state=0, method=method).privacy_report_
    assert asked == []
    assert not report.private
    assert report.seeded
    assert "NOT PRIVATE" in str(report)
    assert json.loads(report.to_json())["private"] is False
    assert "NOT PRIVATE" not in str(fit(arithmetic, method=method).privacy_report_)


@every_arithmetic
def test_where_the_system_has_no_bits_nothing_is_returned(arithmetic, monkeypatch):
    def broken(count):
        raise NotImplementedError("no source of randomness")

    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS, arithmetic=arithmetic)
    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(NotImplementedError):
        model.fit(*table())
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "privacy_report_")


@every_arithmetic
def test_where_the_system_stops_midway_nothing_is_returned(arithmetic, monkeypatch):
    left, urandom = [3], os.urandom

    def failing(count):
        left[0] -= 1
        if left[0] < 0:
            raise OSError("out of entropy")
        return urandom(count)

    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS, arithmetic=arithmetic)
    monkeypatch.setattr(os, "urandom", failing)
    with pytest.raises(OSError, match="entropy"):
        model.fit(*table())
    assert not hasattr(model, "coef_")


def test_numpys_global_seed_changes_nothing():
    found = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        found.append(fit().coef_)
    assert not np.array_equal(*found)


@pytest.mark.posix
@every_arithmetic
def test_forked_processes_draw_different_noise(arithmetic):
    fit(arithmetic)  # threads and caches of the parent exist before it forks
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map(coefficients, [arithmetic] * 6, chunksize=1)
    assert len({tuple(f) for f in [*found, coefficients(arithmetic)]}) == 7


def test_workers_of_joblib_draw_different_noise():
    found = Parallel(n_jobs=2)(delayed(coefficients)("float") for _ in range(4))
    assert len({tuple(each) for each in found}) == 4


@every_arithmetic
def test_threads_draw_different_noise(arithmetic):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(coefficients, [arithmetic] * 12))
    assert len({tuple(f) for f in found}) == 12


@every_arithmetic
def test_threads_with_seeds_get_the_results_of_their_seeds(arithmetic):
    expected = [fit(arithmetic, seed).coef_.tolist() for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: fit(arithmetic, seed).coef_.tolist(), range(6)))
    assert found == expected


def test_copies_draw_different_noise():
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS, method="ihm")  # whose coefficients are never all zero
    copies = [model, clone(model), pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(model.fit(*table())))]
    assert len({tuple(copy.fit(*table()).coef_) for copy in copies}) == 4


def test_streams_without_a_seed_are_the_systems():
    bits = streams(None, 3)
    assert all(isinstance(b, SystemBits) and not b.seeded for b in bits)
    assert len({tuple(b.words(4)) for b in (*bits, *bits)}) == 6
    assert isinstance(bits[0].spawn(), SystemBits)


def test_streams_with_a_seed_are_told_by_it_and_differ():
    first, second = streams(3, 4), streams(3, 2)
    words = [tuple(b.words(8)) for b in first]
    assert all(b.seeded for b in first)
    assert len(set(words)) == 4
    assert [tuple(b.words(8)) for b in second] == words[:2]
    assert tuple(streams(4, 1)[0].words(8)) not in words


def test_a_spawned_stream_takes_nothing_from_its_own():
    plain, spawning = streams(3, 1)[0], streams(3, 1)[0]
    child, sibling = spawning.spawn(), spawning.spawn()
    drawn = tuple(child.words(8))
    assert child.seeded
    assert drawn != tuple(sibling.words(8))
    np.testing.assert_array_equal(spawning.words(8), plain.words(8))
    assert tuple(streams(3, 1)[0].spawn().words(8)) == drawn


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True, [0], np.random, object()])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ParameterError, match="random_state"):
        streams(seed, 1)


@pytest.mark.parametrize("seed", [0, np.int64(7), 2**80])
def test_any_whole_number_is_a_seed(seed):
    np.testing.assert_array_equal(streams(seed, 1)[0].words(3), streams(int(seed), 1)[0].words(3))


class Words:
    """A stream that gives the same word again and again."""

    seeded = True

    def __init__(self, word):
        self.word = word

    def words(self, count):
        return np.full(count, self.word, dtype=np.uint64)


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_the_rarest_words_give_finite_draws(word):
    assert np.isfinite(standard_normal(Words(word), (3,))).all()
    draws = chi_square(Words(word), np.array([1.0, 2.0, 50.0, 5000.0]))
    assert np.isfinite(draws).all()
    assert (draws >= 0.0).all()


def test_normal_draws_are_symmetric_in_the_words():
    low, high = standard_normal(Words(0), (1,)), standard_normal(Words(2**64 - 1), (1,))
    np.testing.assert_allclose(low, -high, rtol=1e-12)
    assert high > 8.0


@pytest.mark.parametrize("random_state", [None, 3])
def test_a_witness_knows_of_the_first_draw_and_changes_none(random_state):
    witness, other = Witness(), Witness()
    (watched,), (unwatched,) = witness.watch(streams(random_state, 1)), streams(random_state, 1)
    other.watch(streams(random_state, 1))
    assert watched.seeded == unwatched.seeded
    child = watched.spawn()
    assert not witness.released
    child.words(1)
    assert witness.released
    assert not other.released
    witness.released = False
    drawn = watched.words(5)
    assert witness.released
    if random_state is not None:
        assert drawn.tolist() == unwatched.words(5).tolist()


def test_a_witness_knows_of_a_draw_that_fails():
    class Broken(SystemBits):
        def words(self, count):
            raise OSError("no bits")

    witness = Witness()
    with pytest.raises(OSError, match="no bits"):
        witness.watch([Broken()])[0].words(1)
    assert witness.released


def test_a_release_is_announced_without_a_draw():
    witness = Witness()
    announce_release([SystemBits(), *witness.watch([SystemBits()])])
    assert witness.released


@pytest.mark.parametrize(
    "mechanism", ["gaussian", "symmetric_gaussian", "eigenvalue", "certain", "mix_gram", "mix_rows"]
)
def test_every_mechanism_tells_the_witness_before_it_draws(mechanism, monkeypatch):
    witness, gram = Witness(), Statistic(np.eye(3, dtype=np.int64) << 40, 1 << 40, 2.0**-40)
    channel = Channel(witness.watch([SystemBits()]))
    monkeypatch.setattr(SystemBits, "words", lambda *_: 1 / 0)
    monkeypatch.setattr(WatchedBits, "words", lambda self, count: self._bits.words(count))  # only what is announced
    calls = {
        "gaussian": lambda: channel.gaussian(gram, multiplier=1.0),
        "symmetric_gaussian": lambda: channel.symmetric_gaussian(gram, multiplier=1.0),
        "eigenvalue": lambda: channel.eigenvalue(gram, "largest", multiplier=1.0),
        "certain": lambda: channel.certain_smallest_eigenvalue(gram, multiplier=1.0, margin=3.0),
        "mix_gram": lambda: channel.mix_gram(gram, rows=4, floor=5.0),
        "mix_rows": lambda: channel.mix_rows(gram, rows=4, floor=5.0),
    }
    with pytest.raises(ZeroDivisionError):
        calls[mechanism]()
    assert witness.released
