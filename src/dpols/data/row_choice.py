"""Which rows of a unit are used: a sample that the unit's own rows decide, wherever and in whatever order they lie.

A row's number is a keyed hash of its unit's id and of its own values, features and target, as they are after parsing.
Equal rows of a unit are told apart by counting: the copies of a row are number 0, 1, and so on, which of them is which
being of no matter. The rows with the smallest numbers are used. So each row of a unit is as likely to be used as any
other, copies included, and a file's order, an engine's partitions and the type of a table change nothing.

The key is a public constant: the choice is then a function of the unit's rows, and privacy is proved for any such
function. Nothing hangs on the quality of the hash either: units are told apart by their ids, and different rows of one
unit that have one number count as copies of each other.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from .source import Array
from .unit_ids import text_of_id

_KEY = b"dpols: rows of a unit"
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_PAIR = np.dtype([("unit", ">u8"), ("row", ">u8")])


def seeds_of(ids: Sequence[Hashable]) -> Array:
    """Return a number for each id, with which the hashes of its rows begin."""
    digests = [blake2b(text_of_id(value).encode("utf-8", "backslashreplace"), digest_size=8, key=_KEY) for value in ids]
    return np.array([int.from_bytes(digest.digest(), "big") for digest in digests], dtype=np.uint64)


def plain_rows(features: Array, target: Array) -> Array:
    """Return rows with their targets as doubles, in which equal values have equal bytes."""
    rows = np.column_stack((features, target)).astype(np.float64, copy=False)
    rows += 0.0  # of -0.0, which equals 0.0, makes that
    rows[np.isnan(rows)] = np.nan
    return rows


def row_hashes(rows: Array, seeds: Array) -> Array:
    """Return the hash of each row, which begins with the seed of its unit; ``rows`` are plain ones."""
    hashes = seeds.astype(np.uint64)
    for column in rows.T:
        hashes = _mixed(hashes ^ np.ascontiguousarray(column).view(np.uint64))
    return hashes


def _mixed(values: Array) -> Array:
    """Return the values, each spread over all of its bits: the finaliser of SplitMix64."""
    values = values + _STEP
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return np.asarray(values ^ (values >> np.uint64(31)))


@dataclass(frozen=True)
class Chosen:
    """Rows of units, each unit and hash once, with how many of the equal rows are used and how many there are."""

    units: Array
    hashes: Array
    used: Array
    copies: Array

    @property
    def whole(self) -> "Chosen":
        """Those of which all copies are used."""
        return self._where(self.used == self.copies)

    @property
    def in_part(self) -> "Chosen":
        """Those of which some copies are used, but not all."""
        return self._where((self.used > 0) & (self.used < self.copies))

    def _where(self, wanted: Array) -> "Chosen":
        return Chosen(self.units[wanted], self.hashes[wanted], self.used[wanted], self.copies[wanted])


def choose(units: Array, hashes: Array, max_rows: int) -> Chosen:
    """Return which rows are used: of each unit the ``max_rows`` with the smallest numbers, or all where it has fewer.

    ``units`` and ``hashes`` are those of all rows, in any order.
    """
    pairs, copies = np.unique(paired(units, hashes), return_counts=True)
    found = pairs.view(_PAIR)
    units, hashes = found["unit"].astype(np.int64), found["row"].astype(np.uint64)
    place = np.repeat(np.arange(len(pairs)), copies)
    copy = np.arange(len(place)) - np.repeat(np.cumsum(copies) - copies, copies)
    numbers = _mixed(hashes[place] + _STEP * copy.astype(np.uint64))
    order = np.lexsort((place, numbers, units[place]))
    ranked = units[place][order]
    rank = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    used = np.bincount(place[order[rank < max_rows]], minlength=len(pairs))
    return Chosen(units, hashes, used, copies)


def paired(units: Array, hashes: Array) -> Array:
    """Return units and hashes as one value that sorts by both."""
    pairs = np.empty(len(units), dtype=_PAIR)
    pairs["unit"], pairs["row"] = units, hashes
    return pairs.view("S16")


def places_of(pairs: Array, known: Array) -> Array:
    """Return the place of each pair among the known ones, which are sorted; -1 where it is not among them."""
    if not len(known):
        return np.full(len(pairs), -1)
    places = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    return np.where(known[places] == pairs, places, -1)


def first_copies(units: Array, hashes: Array, chosen: Chosen) -> Array:
    """Return which of some rows are used where they are all that a choice was made among; the first ones of copies."""
    entries = places_of(paired(units, hashes), paired(chosen.units, chosen.hashes))
    order = np.argsort(entries, kind="stable")
    ranked = entries[order]
    used = np.zeros(len(entries), dtype=bool)
    used[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked) < chosen.used[ranked]
    return used
