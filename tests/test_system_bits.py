"""The system's words have all of their 64 bits: each position is fair, no two go together, and no word comes twice."""

import os

import numpy as np
import pytest

from dpols.randomness import SystemBits, Witness, streams

COUNT = 1 << 16
STDS = 6.5  # of a fair coin: among some thousand statistics one in a million runs has one beyond


def systems():
    """Every way to the system's words that a fit has."""
    return {
        "system": SystemBits(),
        "stream": streams(None, 2)[1],
        "spawned": streams(None, 1)[0].spawn(),
        "watched": Witness().watch(streams(None, 1))[0],
        "spawned from a watched one": Witness().watch(streams(None, 1))[0].spawn(),
    }


every_way = pytest.mark.parametrize("way", systems())


def bits_of(words):
    """Return the bits of words, one row for each word."""
    return ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(np.float64)


@every_way
def test_every_position_is_fair_and_independent_of_every_other(way):
    signs = 2.0 * bits_of(systems()[way].words(COUNT)) - 1.0
    assert np.abs(signs.sum(axis=0)).max() < STDS * np.sqrt(COUNT)
    together = np.abs(signs.T @ signs)
    np.fill_diagonal(together, 0.0)
    assert together.max() < STDS * np.sqrt(COUNT)


@every_way
def test_a_word_says_nothing_about_the_next_one(way):
    signs = 2.0 * bits_of(systems()[way].words(COUNT)) - 1.0
    assert np.abs(signs[:-1].T @ signs[1:]).max() < STDS * np.sqrt(COUNT)


@every_way
def test_no_word_comes_twice(way):
    """Among 2^18 words of 64 bits one pair is expected in 500 million runs; of 32 bits there would be eight pairs."""
    words = np.concatenate([systems()[way].words(COUNT) for _ in range(4)])
    assert len(np.unique(words)) == 4 * COUNT


@every_way
def test_no_part_of_a_word_follows_from_the_rest(way):
    """Words as equations over the two-element field: 80 of them leave no relation between their bits."""
    rows, rank = [int(word) for word in systems()[way].words(80)], 0
    while any(rows):
        pivot = max(rows)
        lead = 1 << (pivot.bit_length() - 1)
        rows = [row ^ pivot if row & lead and row is not pivot else row for row in rows if row is not pivot]
        rank += 1
    assert rank == 64


@every_way
@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
def test_words_are_the_systems_bytes_all_of_them_and_as_they_come(way, count, monkeypatch):
    asked = []

    def urandom(size):
        asked.append(bytes((31 * i + i // 256) % 256 for i in range(size)))
        return asked[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    words = systems()[way].words(count)
    assert words.dtype == np.uint64
    assert words.shape == (count,)
    assert sum(map(len, asked)) == 8 * count
    assert words.tobytes() == b"".join(asked)
