"""Mistakes in whitened descent: in its sums, its lengths and its limits."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "sensitivity of several numbers that is that of one",
        "totals",
        Edit(
            "statistics/sums.py",
            "    return 3.0 if one_more else math.sqrt(8.0)\n",
            "    return 2.0\n",
        ),
    ),
    Bug(
        "sensitivity of several numbers that is that of one",
        "residuals by fitted value",
        Edit("statistics/sums.py", "Statistic(values[0], math.sqrt(2.0))", "Statistic(values[0], 1.0)"),
        Edit("statistics/sums.py", "float(math.isqrt(2 * int(ONE) ** 2) + 1), 1.0 / ONE", "ONE, 1.0 / ONE"),
    ),
    Bug(
        "no shortening",
        "gradients in floating point",
        Edit(
            "data/span.py",
            "return self.transposed_dot(np.clip(residuals, -level, level, out=residuals))",
            "return self.transposed_dot(residuals)",
        ),
    ),
    Bug(
        "no shortening",
        "gradients in exact arithmetic",
        Edit(
            "data/fixed_point.py",
            "steps[few] = np.clip(residuals[few], -level, level)\n",
            "steps[few] = residuals[few]\n",
        ),
    ),
    Bug(
        "no shortening",
        "rows in floating point",
        Edit(
            "data/span.py",
            "share = np.minimum(1.0, limit / np.maximum(lengths, _TINY))",
            "share = np.ones((len(lengths), len(limit)))",
        ),
    ),
    Bug(
        "no shortening",
        "rows in exact arithmetic",
        Edit("data/fixed_point.py", "np.where(lengths <= limit, 1.0,", "np.where(lengths >= 0.0 * limit, 1.0,"),
    ),
    Bug(
        "rounding that exceeds the sensitivity",
        "levels rounded to the nearest",
        Edit(
            "data/fixed_point.py",
            "np.floor(most * DOWN / self.at_most(lengths[few]))",
            "np.rint(0.5 + most * DOWN / self.at_most(lengths[few]))",
        ),
    ),
    Bug(
        "rounding that exceeds the sensitivity",
        "rows rounded to the nearest",
        Edit(
            "data/fixed_point.py",
            "np.maximum(limit - slack, 0.0) * DOWN / lengths",
            "np.maximum(limit, 0.0) * DOWN / lengths",
        ),
        Edit("data/fixed_point.py", "np.trunc(self.rows * share[:, None])", "np.rint(self.rows * share[:, None])"),
    ),
    Bug(
        "rounding that exceeds the sensitivity",
        "steps of the product with the metric left out",
        Edit("statistics/whitened.py", "SQUARE + math.isqrt(d) + 1", "SQUARE - 2.0**20"),
    ),
    Bug(
        "what a row adds depends on its place",
        "length by a sum over the columns",
        Edit(
            "data/whole_rows.py",
            "        squares = np.add.reduce(products, axis=0)[: len(self.rows)]\n",
            "        rows = np.ascontiguousarray(products.T)\n"
            "        squares = rows.sum(axis=1) if len(rows) % 2 else products.sum(axis=0)\n",
        ),
    ),
    Bug(
        "the limit of another metric",
        "squared limit not squared",
        Edit(
            "statistics/whitened.py",
            "Statistic(inside / np.square(limit)[:, None, None], 1.0, np.square(limit))",
            "Statistic(inside / np.square(limit)[:, None, None], 1.0, np.square(limit) * np.minimum(limit, 1.0))",
        ),
    ),
    Bug(
        "the limit of another step",
        "gradients",
        Edit(
            "algorithms/whitened.py",
            "            exact = gradients.at(theta, limit=path.limit, reach=path.reach())\n",
            "            exact = gradients.at(theta, limit=1.2 * path.limit, reach=path.reach())\n"
            "            exact = type(exact)(exact.value, exact.sensitivity / 1.2, exact.step)\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "counts of gradient lengths",
        Edit(
            "algorithms/whitened.py",
            "        path.choose(counts, choices[step], known.used)\n",
            "        path.choose(exact_counts.value * exact_counts.step, choices[step], known.used)\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "totals",
        Edit(
            "algorithms/whitening.py",
            "    return _totals(rows, plan, channel.gaussian(exact, multiplier=plan.totals_multiplier)), products\n",
            "    channel.gaussian(exact, multiplier=plan.totals_multiplier)\n"
            "    sums = np.tile(exact.value.astype(float) * exact.step, (channel.trials, 1))\n"
            "    return _totals(rows, plan, sums), products\n",
        ),
    ),
    Bug(
        "a unit charged as one row",
        "rows in whitened coordinates",
        Edit("statistics/whitened.py", "return self.bounded.rows_per_unit", "return 1"),
    ),
    Bug(
        "shares of the budget that add up to more than the whole",
        "gradients",
        Edit(
            "algorithms/whitened.py",
            "rest = 1.0 - _TOTALS - _GRAM - _SECOND_GRAM - _LENGTHS - _COUNTS - _RISE",
            "rest = 1.0 - _TOTALS - _GRAM - _LENGTHS - _COUNTS - _RISE",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "clip level of intervals",
        Edit(
            "algorithms/closing_inference.py",
            "    counts = channel.gaussian(exact, multiplier=plan.late_count_multiplier)\n",
            "    channel.gaussian(exact, multiplier=plan.late_count_multiplier)\n"
            "    counts = (exact.value * exact.step).astype(float) + np.zeros((channel.trials, 1))\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "scores of units",
        Edit(
            "algorithms/closing_inference.py",
            "        return noisy / units**2, plan.score_multiplier * limit**2\n",
            "        noisy = exact.value.astype(float) * np.reshape(exact.step, (-1, 1, 1))\n"
            "        return noisy / units**2, plan.score_multiplier * limit**2\n",
        ),
    ),
    Bug(
        "no shortening",
        "scores in floating point",
        Edit(
            "data/span.py",
            "weights = np.clip(residuals, -level, level) / limit",
            "weights = residuals / limit",
        ),
    ),
    Bug(
        "no shortening",
        "scores in exact arithmetic",
        Edit(
            "data/fixed_point.py",
            "weights = np.clip(residuals, -level, level) * (ONE / limit)",
            "weights = residuals * (ONE / limit)",
        ),
        Edit(
            "data/whole_numbers.py",
            "    if squares.max(initial=0.0) > SQUARE:\n        steps",
            "    if False:\n        steps",
        ),
    ),
    Bug(
        "no shortening",
        "sums of a unit's scores",
        Edit(
            "statistics/whitened.py",
            "short = sums * (1.0 / np.maximum(lengths, limit))",
            "short = sums * (1.0 / limit)",
        ),
    ),
    Bug(
        "a unit charged as one row",
        "rows shortened before they are joined",
        Edit(
            "data/rows.py",
            "        return np.stack([np.bincount(units[order], weights=column[order]) for column in lines.T])\n",
            "        return lines.T\n",
        ),
    ),
    Bug(
        "shares of the budget that add up to more than the whole",
        "closing gradients",
        Edit(
            "algorithms/whitened_inference.py",
            "    rest = 1.0 - fixed - 2.0 * gram - third - residuals\n",
            "    rest = 1.0 - fixed - gram - third - residuals\n",
        ),
    ),
    Bug(
        "a row taken for one that is not shortened",
        "stale reference",
        Edit(
            "statistics/screening.py",
            "near = np.linalg.norm(inside, axis=1)[:, 0] * _UP <= self.reach",
            "near = np.ones(len(theta), dtype=bool)",
        ),
    ),
    Bug(
        "a row taken for one that is not shortened",
        "reference of a higher limit",
        Edit("statistics/screening.py", "(limit >= self.limit)).all()", "(limit > 0.0)).all()"),
    ),
    Bug(
        "a row taken for one that is not shortened",
        "a reference before it is rounded",
        Edit(
            "statistics/screening.py",
            "_Reference(point, limit, reach, near,",
            "_Reference((theta, np.zeros(len(theta))), limit, reach, near,",
        ),
    ),
    Bug(
        "a row taken for one that is not shortened",
        "wrong side of the limit",
        Edit(
            "statistics/screening.py",
            "kept = KeptRows.of(span, lengths, ~far.T.all(axis=0), spare)",
            "kept = KeptRows.of(span, lengths, ~far.T.all(axis=0) & (residuals * size <= limit).all(axis=1), spare)",
        ),
    ),
    Bug(
        "a row taken for one that is not shortened",
        "bound on the movement too small",
        Edit("statistics/screening.py", "residuals + size * reach + 2.0", "residuals + 0.5 * size * reach + 2.0"),
    ),
    Bug(
        "a row taken for one that is not shortened",
        "one trial for all",
        Edit("statistics/screening.py", "~far.T.all(axis=0), spare)", "~far.T.any(axis=0), spare)"),
    ),
    Bug(
        "the length of another row",
        "rows of a task",
        Edit(
            "data/row_numbers.py",
            "start, self.place = self.place, self.place + len(span.target)",
            "start = _rows.start\n        self.place = start + len(span.target)",
        ),
    ),
    Bug(
        "the length of another row",
        "kept rows",
        Edit(
            "data/kept_rows.py", "span.target[chosen], numbers[chosen]", "span.target[chosen], numbers[: len(chosen)]"
        ),
    ),
    Bug(
        "the length of another row",
        "spans of a block",
        Edit(
            "data/row_numbers.py",
            "            self.numbers[start : self.place] = found\n",
            "            self.numbers[start : self.place] = found[::-1]\n",
        ),
    ),
    Bug(
        "rows counted twice",
        "kept rows in the products of the others",
        Edit("statistics/products.py", "self.moment - from_limbs(high, low)", "self.moment"),
    ),
    Bug(
        "exact counts stated beside a fit",
        "rows that were kept",
        Edit(
            "statistics/screening.py",
            "                tell(rows.bounded.n_rows)\n            return",
            "                tell(self._reference.kept.rows.n_rows)\n            return",
        ),
    ),
)
