"""Mistakes in what is read: rows that are too long, count too often, or decide over others."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "no clipping",
        "residuals",
        Edit(
            "data/span.py",
            "        np.clip(residuals, -1.0, 1.0, out=residuals)\n",
            "",
        ),
        Edit(
            "data/whole_numbers.py",
            "    return np.clip(steps, -ONE, ONE, out=steps)\n",
            "    return steps\n",
        ),
    ),
    Bug(
        "no clipping",
        "rows",
        Edit(
            "data/bounding.py",
            "    if squares.max(initial=0.0) <= bound * bound:\n        return rows, None\n",
            "    return rows, None\n",
        ),
    ),
    Bug(
        "no clipping",
        "targets",
        Edit(
            "data/rounding.py",
            "np.clip(target, *row_map.target)",
            "target",
        ),
        Edit(
            "data/rounding.py",
            "    np.clip(bounded_target, -1.0, 1.0, out=bounded_target)  # the centre is rounded\n",
            "",
        ),
        Edit(
            "data/whole_numbers.py",
            "np.clip(np.rint(target * ONE), -ONE, ONE)",
            "np.rint(target * ONE)",
        ),
    ),
    Bug(
        "a lower bound used for both ends",
        "scale of a feature",
        Edit(
            "data/bounds.py",
            "scale = max(abs(low), abs(high))",
            "scale = max(abs(low), abs(low)) or abs(high)",
        ),
        Edit(
            "data/bounds.py",
            "_shared(np.minimum(ends[:, 1], 1.0))",
            "_shared(ends[:, 1])",
        ),
    ),
    Bug(
        "NaN passed through",
        "rows",
        Edit(
            "data/bounding.py",
            "    return bad if bad.any() else None\n",
            "    return None\n",
        ),
    ),
    Bug(
        "n in a non-public role",
        "length of a step",
        Edit(
            "algorithms/ihm.py",
            "theta = theta + solve_symmetric(sketches[-1], step)",
            "used = float(np.trace(hessian.value)) * hessian.step\n"
            "        theta = theta + solve_symmetric(sketches[-1], step) * min(1.0, 2.0 * used / "
            "plan.n_rows)",
        ),
    ),
    Bug(
        "n in a non-public role",
        "rule of delta",
        Edit(
            "fitting/preparing.py",
            "budget = request.budget(n_rows)",
            "budget = request.budget(int(source.total(lambda X, y: ((y == y).sum(),)).values[0]))",
        ),
    ),
    Bug(
        "a unit charged as one row",
        "sums",
        Edit(
            "statistics/statistic.py",
            "statistic.value, statistic.sensitivity * rows_per_unit, statistic.step / rows_per_unit, rows_per_unit",
            "statistic.value, statistic.sensitivity, statistic.step / rows_per_unit, rows_per_unit",
        ),
    ),
    Bug(
        "a unit charged as one row",
        "shift of a sketch",
        Edit(
            "mechanisms.py",
            "one_row = gram.sensitivity / gram.rows_at_once",
            "one_row = gram.sensitivity",
        ),
    ),
    Bug(
        "a unit charged as one row",
        "rows that are used",
        Edit(
            "data/row_choice.py",
            "place[order[rank < max_rows]]",
            "place[order[rank < max_rows + 1]]",
        ),
    ),
    Bug(
        "side releases charged as of one row",
        "all of them",
        Edit(
            "fitting/running.py",
            "        request.rows_per_unit,\n        prepared.relation.rows_are_public,\n",
            "        1,\n        prepared.relation.rows_are_public,\n",
        ),
    ),
    Bug(
        "side releases charged as of one row",
        "paid bounds",
        Edit(
            "fitting/running.py",
            "        planned,\n        _unbounded(prepared, prepared.source),\n",
            "        planned,\n        replace(_unbounded(prepared, prepared.source), rows_per_unit=1),\n",
        ),
    ),
    Bug(
        "side releases charged as of one row",
        "counts of clipped values",
        Edit(
            "fitting/running.py",
            "release_spread(bounds, row_map.target, _unbounded(prepared, prepared.source), release, bits)",
            "release_spread(bounds, row_map.target, "
            "replace(_unbounded(prepared, prepared.source), rows_per_unit=1), release, bits)",
        ),
    ),
    Bug(
        "side releases charged as of one row",
        "counts of values that a map clips",
        Edit(
            "fitting/running.py",
            "release_spread(declared, target, _unbounded(prepared, raw), release, bits)",
            "release_spread(declared, target, replace(_unbounded(prepared, raw), rows_per_unit=1), release, bits)",
        ),
    ),
    Bug(
        "side releases charged as of one row",
        "counts of norms",
        Edit(
            "side_releases/paid_bounds.py",
            "rows.arithmetic, rows.rows_per_unit)",
            "rows.arithmetic, 1)",
        ),
    ),
    Bug(
        "a row that enters both parts",
        "a search",
        Edit(
            "private_search/grid_search.py",
            "for rows in (~scoring, scoring)",
            "for rows in (scoring | ~scoring, scoring)",
        ),
    ),
    Bug(
        "a row that decides over others",
        "choice of a unit's rows",
        Edit(
            "data/row_choice.py",
            "copy = np.arange(len(place)) - np.repeat(np.cumsum(copies) - copies, copies)",
            "copy = np.arange(len(place))",
        ),
    ),
    Bug(
        "a row that decides over others",
        "ids of units beside a missing one",
        Edit(
            "data/unit_ids.py",
            "    present = column.notna().to_numpy(dtype=bool)\n"
            '    precise = getattr(column.dtype, "numpy_dtype", None)',
            '    if getattr(column.dtype, "kind", "O") in "iuf":\n'
            "        return _of_array(column.to_numpy(dtype=np.float64, na_value=np.nan))\n"
            "    present = column.notna().to_numpy(dtype=bool)\n"
            '    precise = getattr(column.dtype, "numpy_dtype", None)',
        ),
    ),
    Bug(
        "a row that decides over others",
        "categories that are equal as Python has it",
        Edit(
            "feature_map/cells.py",
            "key = (value.__class__, value)",
            "key = value",
        ),
    ),
    Bug(
        "a row that decides over others",
        "texts of a file that is not all UTF-8",
        Edit(
            "data/files/csv.py",
            "[dialect.text(value) for value in",
            '[value.decode("cp1252", "replace") for value in',
        ),
    ),
    Bug(
        "a value beyond the range that was derived",
        "functions of columns",
        Edit(
            "feature_map/transforms.py",
            "_SLACK = 4",
            "_SLACK = 0",
        ),
    ),
    Bug(
        "a row longer than its bound",
        "columns of categories",
        Edit(
            "feature_map/terms.py",
            "(inner, high) if high else (low, inner), k / (k - 1.0))",
            "(inner, high) if high else (low, inner), 1.0)",
        ),
    ),
    Bug(
        "a bad row that counts",
        "its intercept",
        Edit(
            "data/bounding.py",
            "        constant = None if constant is None else constant * good[:, None]\n",
            "",
        ),
    ),
    Bug(
        "no clipping",
        "whole numbers of rows that are too long",
        Edit("data/whole_rows.py", "[0] <= SQUARE)", "[0] <= 2.0 * SQUARE)"),
    ),
    Bug(
        "sums that are not exact",
        "limbs that overflow",
        Edit(
            "data/whole_numbers.py",
            "    if np.abs(high).max(initial=0) < 1 << 29 and low.max(initial=0) < 1 << 61:\n",
            "    if True:\n",
        ),
    ),
    Bug(
        "sums that are not exact",
        "spans that are too long",
        Edit(
            "data/whole_numbers.py",
            "SPAN_ROWS = 1 << (53 - 2 * BITS)",
            "SPAN_ROWS = 1 << (58 - 2 * BITS)",
        ),
    ),
    Bug(
        "a row that counts twice",
        "blocks of a partition",
        Edit(
            "data/partitions.py",
            "            stop = start + BLOCK_ROWS\n",
            "            stop = start + BLOCK_ROWS + 1\n",
        ),
    ),
    Bug(
        "a row that counts twice",
        "sums of Dask's partitions",
        Edit(
            "data/dask_source.py",
            "add(sums[i : i + _ADDED_AT_ONCE])",
            "add(sums[i : i + _ADDED_AT_ONCE + 1])",
        ),
    ),
)
