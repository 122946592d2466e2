"""Sums near the limits of 64 bits get the same noise as small ones: nothing wraps around, and nothing loses bits."""

import numpy as np
import pytest

from dpols.mechanisms import Channel, _with_room
from dpols.randomness import streams
from dpols.statistics import Statistic

ONE_ROW = 2.0**40


@pytest.fixture
def channel():
    return Channel(streams(0, 50))


@pytest.mark.parametrize("value", [2**62, 2**63 - 2**12, 2**63, 2**63 + 2**62, 2**64 - 2**20, 2**64, 2**70])
def test_an_eigenvalue_is_released_around_itself(channel, value):
    gram = Statistic(np.array([[value]], dtype=object), ONE_ROW)
    released = channel.eigenvalue(gram, "smallest", multiplier=3.0)
    assert np.abs(released - float(value)).max() < 6 * 3.0 * ONE_ROW * 1.01
    assert len(set(released)) == 50


@pytest.mark.parametrize("value", [2**62 + 1, 2**63 - 5, -(2**63) + 5])
@pytest.mark.parametrize("kind", [np.int64, object])
def test_a_sum_at_the_end_of_64_bits_does_not_wrap_around(channel, value, kind):
    released = channel.gaussian(Statistic(np.array([[value]], dtype=kind), ONE_ROW), multiplier=3.0)[:, 0]
    assert np.abs(released - float(value)).max() < 6 * 3.0 * ONE_ROW


def test_unsigned_sums_keep_every_bit():
    """The sum of an unsigned and a signed number of 64 bits would be a double, of which low bits are always 0."""
    value, noise = 2**63 + 2**40 + 1, np.arange(-3, 4)
    total = _with_room(np.array([value], dtype=np.uint64)) + noise
    assert total.tolist() == [value + n for n in range(-3, 4)]


def test_a_gram_matrix_at_the_end_of_64_bits_does_not_wrap_around(channel):
    value = np.array([[2**63 - 5, 0], [0, 2**62]], dtype=np.int64)
    released = channel.symmetric_gaussian(Statistic(value, ONE_ROW), multiplier=3.0)
    assert np.abs(released - value.astype(float)).max() < 6 * 3.0 * ONE_ROW
