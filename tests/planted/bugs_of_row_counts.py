"""Mistakes with a number of rows that is not public: it is stated, decides, or shifts what belongs to other rows."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "a private number of rows is stated",
        "report",
        Edit(
            "fitting/describing.py",
            "    return max(round(per_unit * evidence.rows.value), 1), per_unit * evidence.rows.stddev\n",
            "    return prepared.source.n_rows, per_unit * evidence.rows.stddev\n",
        ),
    ),
    Bug(
        "a private number of rows is stated",
        "intervals",
        Edit(
            "fitting/describing.py",
            "        n_rows=prepared.public_rows,\n",
            "        n_rows=prepared.source.n_rows,\n",
        ),
    ),
    Bug(
        "a private number of rows is stated",
        "progress",
        Edit(
            "estimators/private_regression.py",
            "told(hook, prepared.public_rows)",
            "told(hook, prepared.source.n_rows)",
        ),
    ),
    Bug(
        "a private number of rows is stated",
        "sketch",
        Edit(
            "sketching/releasing.py",
            "        n_rows=source.n_rows if relation.rows_are_public else None,\n",
            "        n_rows=source.n_rows,\n",
        ),
    ),
    Bug(
        "a private number of rows is stated",
        "search",
        Edit(
            "private_search/search.py",
            "[len(part[1]) if self.relation.rows_are_public else None for part in",
            "[len(part[1]) for part in",
        ),
    ),
    Bug(
        "a private number of rows decides",
        "shares, multipliers and releases of a plan",
        Edit(
            "fitting/preparing.py",
            "            n_rows=None if n_rows is None else -(-n_rows // request.rows_per_unit),\n",
            "            n_rows=-(-source.n_rows // request.rows_per_unit),\n",
        ),
    ),
    Bug(
        "a private number of rows decides",
        "delta by a rule",
        Edit(
            "fitting/preparing.py",
            "    budget = request.budget(n_rows)\n",
            "    budget = request.budget(source.n_rows)\n",
        ),
    ),
    Bug(
        "a private number of rows decides",
        "tails of paid bounds",
        Edit(
            "side_releases/counting.py",
            "if self.rows_are_public else _counted(counts)",
            "if self.source.n_rows else _counted(counts)",
        ),
    ),
    Bug(
        "a private number of rows decides",
        "whether there is a fit",
        Edit(
            "fitting/preparing.py",
            "    if n_rows == 0:\n",
            "    if source.n_rows == 0:\n",
        ),
    ),
    Bug(
        "a paid count decides over a multiplier",
        "counts of gradients",
        Edit(
            "algorithms/whitened.py",
            "        counts = channel.gaussian(exact_counts, multiplier=choices[step])\n",
            "        more = 1.0 + 1.0 / float(known.used[0])\n"
            "        counts = channel.gaussian(exact_counts, multiplier=choices[step] * more)\n",
        ),
    ),
    Bug(
        "a zero row is counted",
        "totals",
        Edit(
            "data/fixed_point.py",
            "SQUARE * self._used()",
            "SQUARE * len(y)",
        ),
    ),
    Bug(
        "a search divides rows by their place",
        "number of rows not public",
        Edit(
            "private_search/grid_search.py",
            "self.scoring_share, None if relation.rows_are_public else coins)",
            "self.scoring_share)",
        ),
    ),
    Bug(
        "a ledger mixes neighbouring relations",
        "fits",
        Edit(
            "ledger/budget_ledger.py",
            "        if relation is not None and relation.rows_are_public != kept.rows_are_public:\n",
            "        if relation is not None and relation.steps > kept.steps + 1:\n",
        ),
    ),
    Bug(
        "a private number of rows is stated",
        "the progress of files",
        Edit(
            "data/opening.py",
            "    return X if rows_are_public or not isinstance(X, FileSource) else X.without_row_counts()\n",
            "    return X\n",
        ),
    ),
)
