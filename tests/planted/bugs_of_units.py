"""Mistakes about units and paid bounds on any source: whose rows count, how many, and what they are charged for."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "rows of a unit chosen by place",
        "in memory",
        Edit(
            "data/units.py",
            "        return row_hashes(plain_rows(features[some], target[some]), seeds[codes[block][some]])\n",
            "        return np.flatnonzero(some).astype(np.uint64) + np.uint64(block.start)\n",
        ),
    ),
    Bug(
        "rows of a unit chosen by place",
        "in files",
        Edit(
            "data/streamed_units.py",
            "    hashes = row_hashes(plain_rows(features, target), seeds[codes])\n",
            "    hashes = np.arange(len(codes), dtype=np.uint64)\n",
        ),
    ),
    Bug(
        "different rows of a unit chosen, whatever their number",
        "everywhere",
        Edit(
            "data/row_choice.py",
            "    numbers = _mixed(hashes[place] + _STEP * copy.astype(np.uint64))\n",
            "    numbers = _mixed(hashes[place] + _STEP * (copy > 10**9).astype(np.uint64))\n",
        ),
    ),
    Bug(
        "units grouped by a hash of the id",
        "in files",
        Edit(
            "data/streamed_units.py",
            "unit_ids(ids).of_rows()",
            "[None if unit is None else hash(unit) % 101 for unit in unit_ids(ids).of_rows()]",
        ),
    ),
    Bug(
        "rows of a unit looked up among those of all units",
        "everywhere",
        Edit(
            "data/row_choice.py",
            '    pairs["unit"], pairs["row"] = units, hashes\n',
            '    pairs["unit"], pairs["row"] = 0, hashes\n',
        ),
    ),
    Bug(
        "more rows of a unit used than are charged",
        "copies of a row, in files",
        Edit(
            "data/streamed_units.py",
            "        in_part.used,\n",
            "        in_part.copies,\n",
        ),
    ),
    Bug(
        "rows without an id used",
        "in files",
        Edit(
            "data/streamed_units.py",
            "(_NO_UNIT if unit is None else units.get(unit, _SMALL) for unit in ids)",
            "(units.get(unit, _SMALL) for unit in ids)",
        ),
    ),
    Bug(
        "number of passes that depends on the data",
        "units in files",
        Edit(
            "data/streamed_units.py",
            "    passes = -(-source.n_rows // _HASHES_AT_ONCE)\n",
            "    passes = 1 if not large else 2\n",
        ),
    ),
)
