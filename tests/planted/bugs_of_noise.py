"""Mistakes in what is drawn: how much noise, from which bits, and what leaves without any."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "sigma without sqrt(T)",
        "calibration",
        Edit(
            "privacy/paper.py",
            "return floor, math.sqrt(n_iterations) * gradient",
            "return floor, gradient",
        ),
    ),
    Bug(
        "sigma without sqrt(T)",
        "composition",
        Edit(
            "privacy/accountant.py",
            "mu_squared += multiplier**-2.0",
            "mu_squared = max(mu_squared, multiplier**-2.0)",
        ),
    ),
    Bug(
        "sigma without sqrt(T)",
        "run",
        Edit(
            "algorithms/ihm.py",
            "channel.gaussian(exact, multiplier=plan.gradient_multiplier)",
            "channel.gaussian(exact, multiplier=plan.gradient_multiplier / math.sqrt(plan.n_iterations))",
        ),
    ),
    Bug(
        "floor / 2",
        "shift",
        Edit(
            "mechanisms.py",
            "Fraction(floor) * int(gram.sensitivity)",
            "Fraction(floor) / 2 * int(gram.sensitivity)",
        ),
        Edit(
            "mechanisms.py",
            "np.maximum(floor * gram.sensitivity",
            "np.maximum(0.5 * floor * gram.sensitivity",
        ),
    ),
    Bug(
        "sqrt(shift) used as shift",
        "sketch",
        Edit(
            "mechanisms.py",
            "self._whole_numbered_sketch(gram, lift,",
            "self._whole_numbered_sketch(gram, math.isqrt(lift),",
        ),
        Edit(
            "mechanisms.py",
            "root_of(gram.value + shift[:, None, None]",
            "root_of(gram.value + np.sqrt(shift)[:, None, None]",
        ),
    ),
    Bug(
        "mu as sigma",
        "accountant",
        Edit(
            "privacy/accountant.py",
            "mu_squared += multiplier**-2.0",
            "mu_squared += multiplier**2.0",
        ),
    ),
    Bug(
        "mu as sigma",
        "noise",
        Edit(
            "mechanisms.py",
            "Fraction(factor) * Fraction(multiplier)",
            "Fraction(factor) / Fraction(multiplier)",
        ),
        Edit(
            "mechanisms.py",
            "scaled = factor * multiplier",
            "scaled = factor / multiplier",
        ),
    ),
    Bug(
        "one sketch reused where two are charged",
        "steps",
        Edit(
            "algorithms/ihm.py",
            "sketches.append(mixed.gram / plan.sketch_size)",
            "sketches.append(sketches[0] if sketches else mixed.gram / plan.sketch_size)",
        ),
    ),
    Bug(
        "one sketch reused where two are charged",
        "channel",
        Edit(
            "mechanisms.py",
            "known = self._record_sketch(gram, rows, floor, certain)\n        if gram.exact:\n",
            "known = self._record_sketch(gram, rows, floor, certain)\n"
            "        if not hasattr(self, '_mixed'):\n"
            "            self._mixed = self._fresh(gram, rows, floor, known)\n"
            "        return self._mixed\n"
            "\n"
            "    def _fresh(self, gram: Statistic, rows: int, floor: float, known: Array) -> Mixed:\n"
            "        if gram.exact:\n",
        ),
    ),
    Bug(
        "a default seed",
        "estimator",
        Edit(
            "estimators/linear.py",
            "        random_state: Any = None,\n",
            "        random_state: Any = 0,\n",
        ),
    ),
    Bug(
        "a default seed",
        "streams",
        Edit(
            "randomness.py",
            "return [SystemBits() for _ in range(count)]",
            "return [SeededBits(index) for index in range(count)]",
        ),
    ),
    Bug(
        "eigenvalue noise short by sqrt(2)",
        "sensitivity",
        Edit(
            "mechanisms.py",
            "extreme_eigenvalue(gram.value, which)]), gram.sensitivity, gram.step)",
            "extreme_eigenvalue(gram.value, which)]), gram.sensitivity / math.sqrt(2.0), gram.step)",
        ),
        Edit(
            "mechanisms.py",
            "Statistic(np.array([nearest], dtype=object), gram.sensitivity + error, gram.step)",
            "Statistic(np.array([nearest], dtype=object), (gram.sensitivity + error) / math.sqrt(2.0), gram.step)",
        ),
    ),
    Bug(
        "counts of many columns charged as of one",
        "values",
        Edit(
            "side_releases/counting.py",
            "counted(counts, rows.arithmetic, sum(ends is not None for ends in edges))",
            "counted(counts, rows.arithmetic, 1)",
        ),
    ),
    Bug(
        "words of few random bits",
        "16 of 64",
        Edit(
            "randomness.py",
            "        return np.frombuffer(os.urandom(count * WORD_BITS // 8), dtype=np.uint64)\n",
            "        words = np.frombuffer(os.urandom(count * WORD_BITS // 8), dtype=np.uint64)\n"
            "        return (words & np.uint64(0xFFFF)) * np.uint64(0x0001000100010001)\n",
        ),
    ),
    Bug(
        "words of few random bits",
        "52 of 64",
        Edit(
            "randomness.py",
            "        return np.frombuffer(os.urandom(count * WORD_BITS // 8), dtype=np.uint64)\n",
            "        words = np.frombuffer(os.urandom(count * WORD_BITS // 8), dtype=np.uint64)\n"
            "        return words & ~np.uint64(0xFFF)\n",
        ),
    ),
    Bug(
        "words of few random bits",
        "further bits that repeat the first",
        Edit(
            "exact/ideal.py",
            "words = self._more.words(len(self._prefixes)).tolist()",
            "words = [prefix & (1 << WORD_BITS) - 1 for prefix in self._prefixes]",
        ),
    ),
    Bug(
        "noise beside the diagonal short by sqrt(2)",
        "symmetric noise",
        Edit(
            "mechanisms.py",
            "factor=math.sqrt(0.5)",
            "factor=0.5",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "norm of paid bounds",
        Edit(
            "side_releases/paid_bounds.py",
            "    counts = channel.gaussian(norm_counts(bounded, edges[:-1] / row_map.row_norm), "
            "multiplier=multiplier)[0]\n",
            "    exact = norm_counts(bounded, edges[:-1] / row_map.row_norm)\n"
            "    channel.gaussian(exact, multiplier=multiplier)\n"
            "    counts = exact.value * exact.step\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "counts of clipped values",
        Edit(
            "side_releases/bounds_advice.py",
            'return SpreadCounts((*names, "target"), tuple(intervals), noisy, stddev, n_rows), recorded',
            "noisy = (exact.value * exact.step).reshape(noisy.shape)\n"
            '    return SpreadCounts((*names, "target"), tuple(intervals), noisy, stddev, n_rows), recorded',
        ),
    ),
    Bug(
        "sensitivity of several numbers that is that of one",
        "squared residuals of a bound above 1",
        Edit(
            "statistics/sums.py",
            "return _statistic(values, sensitivity=1.0, step=np.square(residual_bound))",
            "return _statistic(values, sensitivity=1.0, step=np.minimum(np.square(residual_bound), residual_bound))",
        ),
    ),
    Bug(
        "sensitivity of several numbers that is that of one",
        "scores of a search",
        Edit(
            "private_search/scores.py",
            "math.isqrt(len(sums) * (_STEPS // 2) ** 2 - 1)",
            "math.isqrt((_STEPS // 2) ** 2 - 1)",
        ),
    ),
    Bug(
        "scores that are not centred",
        "a search",
        Edit(
            "private_search/scores.py",
            "(np.minimum(steps, _STEPS) - _STEPS // 2) * good",
            "np.minimum(steps, _STEPS) * good",
        ),
    ),
    Bug(
        "constraints met in the exact curvature",
        "a step of IHM",
        Edit(
            "algorithms/ihm.py",
            "theta = region.nearest(sketches[-1], theta)",
            "theta = region.nearest(np.repeat(np.asarray(hessian.value, float)[None], channel.trials, 0), theta)",
        ),
    ),
    Bug(
        "a constrained fit draws twice",
        "the finished fit",
        Edit(
            "algorithms/base.py",
            "        fit = self.run(rows, plan, bits)\n        theta = region",
            "        self.run(rows, plan, bits)\n        fit = self.run(rows, plan, bits)\n        theta = region",
        ),
    ),
)
