"""Mistakes in rows that are kept between passes, and in limits that counts choose."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "bad rows that are not refused",
        "in rows that workers keep",
        Edit("data/partitions.py", "Total((np.array(bad_rows),), n_rows)", "Total((np.array(0),), n_rows)"),
    ),
    Bug(
        "rows that are counted twice",
        "a block of a task that is written over the one before",
        Edit("data/rows.py", "    place.start = rows.stop\n", ""),
    ),
    Bug(
        "rows that are counted twice",
        "rows that a worker keeps",
        Edit(
            "data/partitions.py",
            "        yield from part.rows.blocks()\n",
            "        yield from part.rows.blocks()\n        yield from part.rows.blocks()\n",
        ),
    ),
    Bug(
        "numbers that are packed in too few bits",
        "rows of few coordinates",
        Edit("data/packed_rows.py", "BELOW = 1 << 19", "BELOW = 1 << 21"),
    ),
    Bug(
        "intervals that are too short",
        "rows beyond those that the range rule expects",
        Edit("algorithms/clip_level.py", "(lower >= longest[:, None])).any(axis=1)", "(lower < 0.0)).any(axis=1)"),
    ),
    Bug(
        "intervals that are too short",
        "chance in what the tail rule loses",
        Edit(
            "algorithms/clip_level.py",
            "    return TAIL_BIAS**2 + 2.0 * TAIL_BIAS / ((_TAIL - 2.0) * noise * n_features)\n",
            "    return TAIL_BIAS**2\n",
        ),
    ),
    Bug(
        "steps that follow noise",
        "long steps of generalised models",
        Edit("algorithms/generalised_path.py", "_SURE, _LONGEST_STEP = 2.0, 8.0", "_SURE, _LONGEST_STEP = 0.0, 8.0"),
    ),
    Bug(
        "steps that follow noise",
        "averages of steps that are on their way",
        Edit("algorithms/generalised_path.py", "_ELSEWHERE = 10.0", "_ELSEWHERE = 1e12"),
    ),
)
