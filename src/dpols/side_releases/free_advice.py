"""Advice that costs nothing: what the numbers that a fit released anyway say of units, categories and columns.

The default method releases the means of all columns, and X'X. A mean at an end of its bounds says that nearly all
values are there or beyond: most often the column has another unit than its bounds. The mean of a category's column is
its share. The diagonal of X'X, about the mean, says which columns hardly vary.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..data import RowMap
from ..data.source import Array
from .certainty import sure_of

_MOST_NOISE = 0.25  # of the number of rows, over itself, beyond which means say nothing
_AT_END = 0.05  # distance of a mean from an end of its bounds, of which the half-width is 1
_HARDLY = 0.04  # standard deviation of a column that hardly varies, in the same units
_RARE = 0.02  # share of rows that a category may have at most, as far as noise lets one tell, to be called rare
_MANY_OTHERS = 0.02  # share of rows with none of the declared categories
_LIGHT = 0.1  # mean weight over the largest, below which that is too large
_MADE = re.compile(r"\^\d+'$|:|^'\(")  # in a name: a power or a product
_UNITS = "such as a fraction for percent, or thousands"


@dataclass(frozen=True)
class Means:
    """Released means of mapped columns, whose bounds are -1 and 1, with how far noise may lead.

    Means are sums over a number of rows, which may be noisy, too.
    """

    features: Array
    target: float
    noise: float  # of a feature, which it seldom exceeds, for any column
    target_noise: float
    spread: Array  # the largest standard deviation that a column may have, as far as noise lets one tell


def released_means(transcript: Mapping[str, Array], row_map: RowMap, n_units: float | None = None) -> Means | None:
    """Return the means that a method released, None where it does not release any, or they are but noise.

    ``n_units`` is how many rows or units there are, where that is public.
    """
    if "row_means" not in transcript:
        return None
    features = transcript["row_means"][0][: row_map.n_features] * row_map.row_norm
    sure = sure_of(3 * (len(features) + 1))  # three things may be said of each column
    noise = sure * float(transcript["mean_noise"][0])
    if noise > _MOST_NOISE:
        return None
    norm, target = row_map.row_norm, float(transcript["target_mean"][0])
    spread = _spreads(transcript, sure)[: row_map.n_features] * norm * (row_map.constant or 1.0)
    of_mass = 0.0 if float(transcript["mass"][0]) == n_units else 1.0  # a mean is at most 1
    return Means(features, target, noise * math.hypot(norm, of_mass), noise * math.hypot(0.5, of_mass), spread)


def _spreads(transcript: Mapping[str, Array], sure: float) -> Array:
    """Return the largest standard deviation that each coordinate of a row may have, in units of the constant.

    It is infinite where nothing is known. Over the constant, rows that were shortened do not lower it.
    In whitened coordinates v = M'x, X'X was released once more; or it is diagonal there, and its noise is that of the
    second Gram matrix alone.
    """
    back = np.linalg.inv(transcript["metric"][0])
    if "gram" in transcript:
        white, arms = transcript["gram"][0], back
    else:
        white, arms = np.diag(transcript["curvature"][0]), transcript["inner"][0] @ back
    gram, noise = back.T @ white @ back, sure * float(transcript["gram_noise"][0])
    # About the mean, whose coordinate is the constant, the last one. Where noise hides that, nothing is known.
    constant, unsure = gram[-1, -1], noise * float(np.square(arms[:, -1]).sum())
    if constant <= 2.0 * unsure:
        return np.full(len(gram), np.inf)
    means = gram[:, -1] / constant
    own = np.diag(gram) - gram[:, -1] * means
    beside = np.square(arms - np.outer(arms[:, -1], means)).sum(axis=0)
    return np.asarray(np.sqrt(np.maximum(own + noise * beside, 0.0) / (constant - unsure)))


def advice_on_means(
    means: Means | None,
    row_map: RowMap,
    names: Sequence[str],
    categories: Mapping[str, tuple[str, str] | None],
    *,
    bounds_are_chosen: bool = True,
) -> tuple[str, ...]:
    """Return which columns seem to have another unit than their bounds, and which categories hardly any row has.

    ``categories`` names the features that categories are part of, each with its column and category where it stands for
    one. Bounds that were found, and not chosen by the user, need no advice.
    """
    if means is None:
        return ()
    said = []
    if row_map.intercept is not None and bounds_are_chosen:
        said += _at_an_end("the target", means.target, means.target_noise, row_map.target)
    if row_map.centre is not None and row_map.scale is not None and row_map.intercept is not None:
        shares = _Shares(row_map, means, tuple(names))
        said += [line for column in _columns(categories) for line in shares.advice(column, categories)]
        for i, name in enumerate(names):
            if name not in categories and bounds_are_chosen:
                ends = (row_map.centre[i] - row_map.scale[i], row_map.centre[i] + row_map.scale[i])
                said += _at_an_end(f"{name!r}", float(means.features[i]), means.noise, ends) or _hardly_varies(
                    name, float(means.spread[i]), ends
                )
    return tuple(said)


def advice_on_weights(transcript: Mapping[str, Array], row_map: RowMap) -> tuple[str, ...]:
    """Return what the released mean weight says of the largest one that was declared."""
    if row_map.max_weight is None or "mass" not in transcript:
        return ()
    mass, used, noise = (float(transcript[name][0]) for name in ("mass", "used", "mean_noise"))
    share, unsure = mass / used, sure_of(2) * noise
    largest = f"max_weight={row_map.max_weight:g}"
    if share > 1.0 - _AT_END and unsure < _AT_END:
        return (
            f"nearly all weights are {largest} or above it, and were clipped to it: they have another unit than "
            "max_weight, or hardly vary, so that weights could be left out.",
        )
    if share * (1.0 + unsure) < _LIGHT:
        return (
            f"the mean weight is about {share * row_map.max_weight:.2g}, a small part of {largest}: the fit has the "
            f"noise of about {share:.0%} of the rows. If public knowledge allows, declare a smaller max_weight; the "
            "few weights above it are clipped.",
        )
    return ()


class _Shares:
    """Shares of rows by category, from the means of their columns."""

    def __init__(self, row_map: RowMap, means: Means, names: tuple[str, ...]) -> None:
        assert row_map.centre is not None
        assert row_map.scale is not None
        zero = -row_map.centre / row_map.scale  # where a mapped column of zeros and ones has its zeros
        one = (1.0 - row_map.centre) / row_map.scale
        with np.errstate(divide="ignore", invalid="ignore"):
            self.share = dict(zip(names, (means.features - zero) / (one - zero), strict=True))
            self.noise = dict(zip(names, means.noise / np.abs(one - zero), strict=True))

    def advice(self, column: str, categories: Mapping[str, tuple[str, str] | None]) -> list[str]:
        """Say which categories of a column hardly any row has, and whether many rows have none of them."""
        own = {name: pair[1] for name, pair in categories.items() if pair is not None and pair[0] == column}
        other = f"{column}[other]"
        sure = max(self.noise[name] for name in own)
        if not math.isfinite(sure):
            return []
        said = []
        rare = [level for name, level in own.items() if self.share[name] < min(sure, _RARE - sure)]
        if rare:
            most = max(self.share[name] for name, level in own.items() if level in rare) + sure
            said.append(
                f"few rows, if any, are {' or '.join(map(repr, rare))} in {column!r} (at most about {most:.1%}): noise "
                "decides the coefficient. Check the spelling against the data's documentation, since other "
                "values count as none of the categories, or leave the category out."
            )
        if other in self.share and categories.get(other, ()) is None and self.share[other] - sure > _MANY_OTHERS:
            said.append(
                f"about {self.share[other]:.0%} of the rows have a value of {column!r} that is none of the declared "
                "categories. Add the categories that are missing, or correct their spelling."
            )
        return said


def _hardly_varies(name: str, spread: float, interval: tuple[float, float]) -> list[str]:
    if spread > _HARDLY:
        return []
    low, high = interval
    return [
        f"{name!r} hardly varies: its standard deviation is at most about {0.5 * spread * (high - low):.2g}, a small "
        f"part of its bounds [{low:g}, {high:g}], so noise decides its coefficient. Narrow the bounds if they are far "
        "wider than the values can be, or leave the column out."
    ]


def _columns(categories: Mapping[str, tuple[str, str] | None]) -> list[str]:
    return list(dict.fromkeys(pair[0] for pair in categories.values() if pair is not None))


def _at_an_end(what: str, mean: float, noise: float, interval: tuple[float, float]) -> list[str]:
    if 1.0 - abs(mean) + noise > _AT_END:
        return []
    low, high = interval
    end, beyond = ("upper", "above") if mean > 0 else ("lower", "below")
    where = f"nearly all values of {what} lie at the {end} end of the bounds [{low:g}, {high:g}]"
    if _MADE.search(what):  # its bounds follow from those of its columns
        return [
            f"{where}, which follow from those of its columns, so noise decides its coefficient. Narrow the bounds of "
            "these columns if they are far wider than the values can be, or leave the term out."
        ]
    return [
        f"{where}, or {beyond} it and were clipped: {what} has another unit than its bounds, {_UNITS}, or hardly "
        "varies within them. Check the unit and correct the bounds."
    ]
