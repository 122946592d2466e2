"""At most so many rows of each unit where rows are read anew in every pass: files, streams, and tables on clusters.

Rows come with the id of their unit beside the target. Three kinds of passes come first, and how many there are is a
matter of the public number of rows: one counts the rows of each unit, some find which rows of the larger units are
used, and one reads a copy of each row of which some copies are used, but not all. What is kept is of the order of the
number of units, and never the rows. Later passes then tell of each row by itself whether it is used.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError
from .row_choice import Chosen, choose, paired, places_of, plain_rows, row_hashes, seeds_of
from .source import Array, Block, Kernel, LocalSource, RowSource, Total
from .unit_ids import unit_ids
from .units import WITHOUT_ID, PartlyUsed

_HASHES_AT_ONCE = 1 << 25  # in one pass, of 16 bytes each
_BLOCK_ROWS = 16384


def tagged(features: Array, target: Array, ids: Any) -> Block:
    """Return a block whose targets have the id of their unit beside them, None where it has none."""
    both = np.empty(len(target), dtype=[("target", np.float64, target.shape[1:]), ("unit", object)])
    both["target"], both["unit"] = target, unit_ids(ids).of_rows()
    return features, both


@dataclass(frozen=True)
class Choice:
    """What a pass needs to know: the units of which not all rows are used, and which of their rows are."""

    units: dict[Hashable, int]  # a number for each of them
    seeds: Array
    rows: Array  # of all copies of which are used, as pairs of unit and hash

    def used(self, features: Array, both: Array) -> Array:
        """Return which rows of a block are used, but for those of which some copies are used and others not."""
        codes = _codes(self.units, both)
        used = codes == _SMALL
        some = codes >= 0
        if some.any():
            _, pairs = _pairs(features[some], both[some], codes[some], self.seeds)
            used[some] = places_of(pairs, self.rows) >= 0
        return np.asarray(used)


_SMALL, _NO_UNIT = -1, -2  # of a unit all rows of which are used; of a row without an id


@dataclass(frozen=True, repr=False)
class StreamedUnits(PartlyUsed):
    """Rows that are read anew in every pass, of which only some are used."""

    source: RowSource  # of blocks with ids
    choice: Choice
    copies: "Copies"

    @property
    def path(self) -> str | None:
        """The file or folder that the rows are from, where they are from one."""
        return getattr(self.source, "path", None)

    @property
    def is_local(self) -> bool:
        return isinstance(self.source, LocalSource) and self.source.is_local

    def total(self, kernel: Kernel, *args: Any) -> Total:
        return self._with_copies(self.source.total(_of_used, self.choice, kernel, *args), kernel, args)

    def with_units(self, kernel: Kernel, *args: Any) -> tuple[Array, Total]:
        """Return the numbers of the units of all rows that are used, in the order of a pass, and its total."""
        found = self.source.total(_of_used_with_units, self.choice, kernel, *args)
        ids, *values = found.values
        known: dict[Hashable, int] = {}
        units = [known.setdefault(value, len(known)) for value in [*ids, *self.copies.ids]]
        return np.array(units, dtype=np.int64), self._with_copies(Total(tuple(values), found.n_rows), kernel, args)

    def _with_copies(self, total: Total, kernel: Kernel, args: tuple[Any, ...]) -> Total:
        values = total.values
        for features, target in self.copies.blocks():
            values = tuple(a + b for a, b in zip(values, kernel(features, target, *args), strict=True))
        return Total(values, total.n_rows)


@dataclass(frozen=True, repr=False)
class Copies:
    """Rows of which some copies are used and others not: each of these rows once, and how often it is used."""

    rows: Array  # plain ones, what belongs to the target last
    n_features: int
    units: list[Hashable]
    used: Array

    @property
    def ids(self) -> list[Hashable]:
        """The id of each copy."""
        return [unit for unit, count in zip(self.units, self.used.tolist(), strict=True) for _ in range(count)]

    def blocks(self) -> Iterator[Block]:
        """Yield the copies in blocks, so that never all of them are in memory."""
        ends = np.cumsum(self.used)
        for start in range(0, int(self.used.sum()), _BLOCK_ROWS):
            places = np.arange(start, min(start + _BLOCK_ROWS, int(ends[-1])))
            block = self.rows[np.searchsorted(ends, places, side="right")]
            target = block[:, self.n_features :]
            yield block[:, : self.n_features], target[:, 0] if target.shape[1] == 1 else target


def streamed_units(source: RowSource, *, max_rows: int, bad_rows: str) -> StreamedUnits:
    """Return at most ``max_rows`` rows of each unit of a source whose blocks are ``tagged``.

    Rows without an id are refused, or with ``bad_rows="zero"`` not used.
    """
    tally: Any = source.total(_count).values[0]
    if bad_rows == "raise" and tally.pop(None, 0):
        raise DataError(WITHOUT_ID)
    large = [unit for unit, count in tally.items() if unit is not None and count > max_rows]
    units, seeds = {unit: code for code, unit in enumerate(large)}, seeds_of(large)
    passes = -(-source.n_rows // _HASHES_AT_ONCE)
    found = [_chosen(source, units, seeds, (number, passes), max_rows) for number in range(passes)]
    whole, in_part = [_joined(list(each)) for each in zip(*((part.whole, part.in_part) for part in found), strict=True)]
    (rows,) = source.total(_representatives, units, seeds, paired(in_part.units, in_part.hashes)).values
    places = range(len(in_part.units))
    copies = Copies(
        np.array([np.frombuffer(rows[place]) for place in places]).reshape(len(places), -1 if places else 0),
        source.n_features,
        [large[code] for code in in_part.units.tolist()],
        in_part.used,
    )
    return StreamedUnits(source, Choice(units, seeds, paired(whole.units, whole.hashes)), copies)


def _chosen(
    source: RowSource, units: dict[Hashable, int], seeds: Array, part: tuple[int, int], max_rows: int
) -> Chosen:
    """Return the choice among the rows of some units: so many hashes as one pass may keep."""
    (pairs,) = source.total(_hashes, units, seeds, part).values
    codes = np.concatenate([np.empty(0, np.int64), *(codes for codes, _ in pairs)])
    return choose(codes, np.concatenate([np.empty(0, np.uint64), *(hashes for _, hashes in pairs)]), max_rows)


def _joined(parts: list[Chosen]) -> Chosen:
    """Return the choices among several parts of the units as one, in the order of units and hashes."""
    fields = [np.concatenate([getattr(part, name) for part in parts]) for name in Chosen.__dataclass_fields__]
    order = np.lexsort((fields[1], fields[0]))
    return Chosen(*(field[order] for field in fields))


class _Tally(dict[Hashable, int]):
    """Numbers of rows by unit; a sum of two takes the other into the first, which nobody else holds."""

    def __add__(self, other: "_Tally") -> "_Tally":
        for unit, count in other.items():
            self[unit] = self.get(unit, 0) + count
        return self


class _Smallest(dict[int, bytes]):
    """The smallest row in each place, by its bytes; a sum of two takes the other into the first."""

    def __add__(self, other: "_Smallest") -> "_Smallest":
        for place, row in other.items():
            self[place] = min(self.get(place, row), row)
        return self


def _count(_features: Array, both: Array) -> tuple[Any, ...]:
    tally = _Tally()
    for unit in _ids(both):
        tally[unit] = tally.get(unit, 0) + 1
    return (tally,)


def _hashes(
    features: Array, both: Array, units: dict[Hashable, int], seeds: Array, part: tuple[int, int]
) -> tuple[Any, ...]:
    number, parts = part
    codes = _codes(units, both)
    some = codes >= 0
    some[some] = seeds[codes[some]] % np.uint64(parts) == number
    hashes, _ = _pairs(features[some], both[some], codes[some], seeds)
    return ([(codes[some], hashes)],)


def _representatives(
    features: Array, both: Array, units: dict[Hashable, int], seeds: Array, known: Array
) -> tuple[Any, ...]:
    codes = _codes(units, both)
    some = codes >= 0
    smallest = _Smallest()
    if some.any():
        _, pairs = _pairs(features[some], both[some], codes[some], seeds)
        places = places_of(pairs, known)
        rows = plain_rows(features[some], both["target"][some])
        for place, row in zip(places[places >= 0].tolist(), rows[places >= 0], strict=True):
            smallest += _Smallest({place: row.tobytes()})
    return (smallest,)


def _of_used(features: Array, both: Array, choice: Choice, kernel: Kernel, *args: Any) -> tuple[Array, ...]:
    if both.dtype.names is None:  # of a block without rows
        return kernel(features, both, *args)
    used = choice.used(features, both)
    return kernel(features[used], both["target"][used], *args)


def _of_used_with_units(features: Array, both: Array, choice: Choice, kernel: Kernel, *args: Any) -> tuple[Any, ...]:
    used = choice.used(features, both) if both.dtype.names is not None else slice(0, 0)
    return ([*_ids(both)[used]], *_of_used(features, both, choice, kernel, *args))


def _ids(both: Array) -> Array:
    return np.asarray(both["unit"]) if both.dtype.names is not None else np.empty(0, dtype=object)


def _codes(units: dict[Hashable, int], both: Array) -> Array:
    """Return the number of each row's unit, or that it is a small one, or that there is none."""
    ids = _ids(both)
    found = (_NO_UNIT if unit is None else units.get(unit, _SMALL) for unit in ids)
    return np.fromiter(found, dtype=np.int64, count=len(ids))


def _pairs(features: Array, both: Array, codes: Array, seeds: Array) -> tuple[Array, Array]:
    """Return the hashes of rows of large units, and pairs of unit and hash."""
    target = both["target"] if both.dtype.names is not None else both
    hashes = row_hashes(plain_rows(features, target), seeds[codes])
    return hashes, paired(codes, hashes)
