"""Mistakes in models of yes/no outcomes and counts: in mean functions, curvature and releases."""

from editing import Bug, Edit

BUGS = (
    Bug(
        "what a row adds depends on its place",
        "mean function about the mean of a block",
        Edit(
            "data/fixed_point.py",
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
            "np.rint(weight * _in_steps(part, bound))",
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
            "algorithms/generalised_inference.py",
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
)
