"""Mistakes in models of yes/no outcomes and counts: in mean functions, curvature and releases."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "what a row adds depends on its place",
        "mean function about the mean of a block",
        Edit(
            "data/whole_rows.py",
            "        expected = response.expected(self._offset_predictors(theta, exponent, response))\n",
            "        predictors = self._offset_predictors(theta, exponent, response)\n"
            "        expected = response.expected(predictors + 1e-6 * predictors.mean(axis=0))\n",
        ),
    ),
    Bug(
        "what a row adds depends on its place",
        "exponential by another path at the ends of arrays",
        Edit(
            "families.py",
            "    return np.asarray(np.ldexp(result, whole.astype(np.int32)))\n",
            "    result = np.ldexp(result, whole.astype(np.int32))\n"
            "    result[len(result) // 8 * 8 :] = np.expm1(values[len(result) // 8 * 8 :]) + 1.0\n"
            "    return np.asarray(result)\n",
        ),
    ),
    Bug(
        "no shortening",
        "curvature in floating point",
        Edit(
            "data/span.py",
            "share = np.minimum(np.sqrt(slope), limit / np.maximum(lengths, _TINY))",
            "share = np.sqrt(slope) + 0.0 * limit",
        ),
    ),
    Bug(
        "no shortening",
        "curvature in exact arithmetic",
        Edit("data/fixed_point.py", "np.minimum(root, most), 0.0)", "root + 0.0 * np.minimum(most, 1.0), 0.0)"),
    ),
    Bug(
        "no shortening",
        "residuals from a mean that is not bounded",
        Edit(
            "families.py",
            "np.clip((self.mean(predictor) - self.centre) / self.scale, -1.0, 1.0)",
            "(FAMILIES[self.family].mean(predictor) - self.centre) / self.scale",
        ),
    ),
    Bug(
        "the limit of another step",
        "gradients of yes/no outcomes and counts",
        Edit(
            "algorithms/generalised.py",
            "            exact = mean_gradient(white, theta, path.response, limit=path.limit)\n",
            "            exact = mean_gradient(white, theta, path.response, limit=1.2 * path.limit)\n"
            "            exact = type(exact)(exact.value, exact.sensitivity / 1.2, exact.step)\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "counts of gradient lengths of generalised models",
        Edit(
            "algorithms/generalised.py",
            "        path.choose(channel.gaussian(exact_counts, multiplier=multiplier), multiplier)\n",
            "        channel.gaussian(exact_counts, multiplier=multiplier)\n"
            "        path.choose(exact_counts.value * exact_counts.step, multiplier)\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "curvature",
        Edit(
            "algorithms/generalised.py",
            "    gram = channel.symmetric_gaussian(exact, multiplier=plan.sloped_multiplier)\n",
            "    channel.symmetric_gaussian(exact, multiplier=plan.sloped_multiplier)\n"
            "    gram = exact.value.astype(float) * np.reshape(exact.step, (-1, 1, 1))\n",
        ),
    ),
    Bug(
        "no shortening",
        "deviances in floating point",
        Edit(
            "data/span.py",
            "(weight * np.minimum(part / bound, 1.0)).sum(axis=0)",
            "(weight * part / bound).sum(axis=0)",
        ),
    ),
    Bug(
        "no shortening",
        "deviances in exact arithmetic",
        Edit(
            "data/fixed_point.py",
            "np.rint(weight * in_steps(part, bound))",
            "np.rint(weight * part * (ONE / bound))",
        ),
    ),
    Bug(
        "what a row adds depends on its place",
        "logarithm by another path at the ends of arrays",
        Edit(
            "families.py",
            "    return np.asarray(power * _LN2_HIGH + (ratio * result + power * _LN2_LOW))\n",
            "    result = np.asarray(power * _LN2_HIGH + (ratio * result + power * _LN2_LOW))\n"
            "    result[len(result) // 8 * 8 :] = np.log1p(values[len(result) // 8 * 8 :] - 1.0)\n"
            "    return result\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "deviance",
        Edit(
            "algorithms/generalised_inference.py",
            "    deviance = channel.gaussian(exact, multiplier=plan.square_multiplier)\n",
            "    channel.gaussian(exact, multiplier=plan.square_multiplier)\n"
            "    deviance = exact.value.astype(float) * np.reshape(exact.step, (-1, 1))\n",
        ),
    ),
    Bug(
        "an exact value in the place of its release",
        "curvature of intervals",
        Edit(
            "algorithms/generalised_inference.py",
            "    return channel.symmetric_gaussian(exact, multiplier=plan.third_gram_multiplier), limit\n",
            "    channel.symmetric_gaussian(exact, multiplier=plan.third_gram_multiplier)\n"
            "    return exact.value.astype(float) * np.reshape(exact.step, (-1, 1, 1)), limit\n",
        ),
    ),
    Bug(
        "the limit of another step",
        "closing gradients of yes/no outcomes and counts",
        Edit(
            "algorithms/last_gradients.py",
            "        exact = mean_gradient(white, theta, path.response, limit=limit)\n",
            "        exact = mean_gradient(white, theta, path.response, limit=1.2 * limit)\n"
            "        exact = type(exact)(exact.value, exact.sensitivity / 1.2, exact.step)\n",
        ),
    ),
    Bug(
        "shares of the budget that add up to more than the whole",
        "counts of long rows",
        Edit("algorithms/generalised_inference.py", "+ 2.0 * _LONG +", "+ _LONG +"),
    ),
    Bug(
        "shares of the budget that add up to more than the whole",
        "curvature",
        Edit("algorithms/generalised.py", " - _SLOPED * pays", ""),
    ),
    Bug(
        "no clipping",
        "exposure",
        Edit("data/bounding.py", "np.clip(exposures, *ends) / ends[1]", "exposures / ends[1]"),
    ),
    Bug(
        "a total more that is charged as none",
        "exposure",
        Edit(
            "statistics/sums.py",
            "totals_sensitivity(one_more=rows.row_map.beside is not None)",
            'totals_sensitivity(one_more=rows.row_map.beside == "weight")',
        ),
    ),
    Bug(
        "what a row adds depends on its place",
        "exposure over the largest of a block",
        Edit("data/bounding.py", "np.clip(exposures, *ends) / ends[1]", "np.clip(exposures, *ends) / exposures.max()"),
    ),
    Bug(
        "a bad row that counts",
        "a row without exposure",
        Edit("data/bounding.py", "shares if bad is None else np.where(bad, 0.0, shares)", "shares"),
    ),
    Bug(
        "an exact value in the place of its release",
        "mean exposure",
        Edit(
            "algorithms/whitening.py",
            "    return _totals(rows, plan, channel.gaussian(exact, multiplier=plan.totals_multiplier)), products\n",
            "    released = channel.gaussian(exact, multiplier=plan.totals_multiplier)\n"
            "    if rows.row_map.exposure is not None:\n"
            "        released[:, -1] = np.ravel(exact.value)[-1] * np.ravel(exact.step)[0]\n"
            "    return _totals(rows, plan, released), products\n",
        ),
    ),
    Bug(
        "no clipping",
        "deviances of a search",
        Edit("private_search/scores.py", "(np.minimum(steps, _STEPS) - _STEPS // 2)", "(steps - _STEPS // 2)"),
    ),
    Bug(
        "no clipping",
        "outcomes in bins of predictions, in floating point",
        Edit(
            "data/span.py",
            "np.minimum(response.outcome(self.target)[:, None] / ends[-1], 1.0)",
            "response.outcome(self.target)[:, None] / ends[-1]",
        ),
    ),
    Bug(
        "no clipping",
        "places of predictions in bins",
        Edit("data/span.py", "0.5 * np.clip((means - low) / width, 0.0, 1.0)", "(means - low) / width"),
    ),
    Bug(
        "an exact value in the place of its release",
        "calibration",
        Edit(
            "algorithms/calibration_bins.py",
            "    counts, outcomes, places = np.split(channel.gaussian(exact, multiplier=multiplier), 3, axis=1)\n",
            "    channel.gaussian(exact, multiplier=multiplier)\n"
            "    counts, outcomes, places = np.split(exact.value * exact.step, 3, axis=1)\n",
        ),
    ),
    Bug(
        "shares of the budget that add up to more than the whole",
        "calibration",
        Edit("algorithms/generalised.py", "_SLOPED * pays - binned\n", "_SLOPED * pays\n"),
    ),
    Bug(
        "shares of the budget that add up to more than the whole",
        "calibration beside intervals",
        Edit("algorithms/generalised_inference.py", "2.0 * gram - third - binned\n", "2.0 * gram - third\n"),
    ),
    Bug(
        "the target counts where its range is known",
        "paid bounds of yes/no outcomes",
        Edit(
            "side_releases/paid_bounds.py",
            '    unknown += [source.n_features] * (target_is != "known")\n',
            "    unknown += [source.n_features]\n",
        ),
    ),
)
