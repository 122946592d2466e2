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

_SURE, _LIKELY = 3.0, 2.0  # standard deviations of noise
_AT_END = 0.05  # distance of a mean from an end of its bounds, of which the half-width is 1
_HARDLY = 0.04  # standard deviation of a column that hardly varies, in the same units
_AT_BOTH = 0.1  # share of the mean square that may be missing where all values lie at the two ends
_MANY_OTHERS = 0.02  # share of rows with none of the declared categories
_LIGHT = 0.1  # mean weight over the largest, below which that is too large
_MADE = re.compile(r"\^\d+'$|:|^'\(")  # in a name: a power or a product
_UNITS = "such as a fraction for percent, or thousands"


@dataclass(frozen=True)
class Means:
    """Released means of mapped columns, whose bounds are -1 and 1, with the standard deviation of their noise."""

    features: Array
    target: float
    noise: float  # of a feature
    target_noise: float
    spread: Array  # about the largest standard deviation that a column may have, as far as noise lets one tell
    least_square: Array  # about the least mean square that a column has, likewise


def released_means(transcript: Mapping[str, Array], row_map: RowMap) -> Means | None:
    """Return the means that a method released, None where it does not release any."""
    if "row_means" not in transcript:
        return None
    features = transcript["row_means"][0][: row_map.n_features] * row_map.row_norm
    noise = float(transcript["mean_noise"][0])
    spread, squares = (part[: row_map.n_features] for part in _spreads(transcript))
    target = float(transcript["target_mean"][0])
    norm, constant = row_map.row_norm, row_map.constant or 1.0
    return Means(features, target, noise * norm, 0.5 * noise, spread * norm, squares * (norm * constant) ** 2)


def _spreads(transcript: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return about the largest standard deviation of each coordinate of a row, and about its least mean square.

    The latter is over that of the constant, so that rows which were shortened do not lower it.
    In whitened coordinates v = M'x, X'X was released once more; or it is diagonal there, and its noise is that of the
    second Gram matrix alone.
    """
    back = np.linalg.inv(transcript["metric"][0])
    if "gram" in transcript:
        white, arms = transcript["gram"][0], back
    else:
        white, arms = np.diag(transcript["curvature"][0]), transcript["inner"][0] @ back
    gram = back.T @ white @ back
    noise = float(transcript["gram_noise"][0]) * np.square(arms).sum(axis=0)
    # About the mean, whose coordinate is the constant, the last one. Where noise hides that, nothing is known.
    constant = gram[-1, -1]
    if constant <= _LIKELY * noise[-1]:
        return np.full(len(gram), np.inf), np.zeros(len(gram))
    own = np.diag(gram) - gram[:, -1] ** 2 / constant
    squares = (np.diag(gram) - _LIKELY * noise) / constant
    return np.sqrt(np.maximum(own + _SURE * noise, 0.0) / transcript["mass"][0]), squares


def advice_on_means(
    means: Means | None, row_map: RowMap, names: Sequence[str], categories: Mapping[str, tuple[str, str] | None]
) -> tuple[str, ...]:
    """Return which columns seem to have another unit than their bounds, and which categories hardly any row has.

    ``categories`` names the features that categories are part of, each with its column and category where it stands for
    one.
    """
    if means is None:
        return ()
    said = []
    if row_map.intercept is not None:
        said += _at_an_end("the target", means.target, means.target_noise, row_map.target)
    if row_map.centre is not None and row_map.scale is not None and row_map.intercept is not None:
        shares = _Shares(row_map, means, tuple(names))
        said += [line for column in _columns(categories) for line in shares.advice(column, categories)]
        for i, name in enumerate(names):
            if name not in categories:
                ends = (row_map.centre[i] - row_map.scale[i], row_map.centre[i] + row_map.scale[i])
                said += _at_an_end(f"{name!r}", float(means.features[i]), means.noise, ends) or _hardly_varies(
                    name, float(means.spread[i]), ends
                )
        said += _at_both_ends([name for i, name in enumerate(names) if _is_share(i, name, means, row_map, categories)])
    return tuple(said)


def _is_share(
    i: int, name: str, means: Means, row_map: RowMap, categories: Mapping[str, tuple[str, str] | None]
) -> bool:
    """Whether a column with bounds 0 and 1 has nearly all values at them, and not all at one of them."""
    assert row_map.centre is not None
    assert row_map.scale is not None
    ends = (row_map.centre[i] - row_map.scale[i], row_map.centre[i] + row_map.scale[i])
    inside = 1.0 - abs(float(means.features[i])) + _LIKELY * means.noise > _AT_END
    return name not in categories and ends == (0.0, 1.0) and inside and bool(means.least_square[i] > 1.0 - _AT_BOTH)


def _at_both_ends(names: list[str]) -> list[str]:
    if not names:
        return []
    return [
        f"nearly all values of {', '.join(map(repr, names))} lie at 0 or 1, or beyond and were clipped, as in columns "
        "of yes and no. If one is a share, it may be in percent: then declare bounds of 0 and 100."
    ]


def advice_on_weights(transcript: Mapping[str, Array], row_map: RowMap) -> tuple[str, ...]:
    """Return what the released mean weight says of the largest one that was declared."""
    if row_map.max_weight is None or "mass" not in transcript:
        return ()
    mass, used, noise = (float(transcript[name][0]) for name in ("mass", "used", "mean_noise"))
    share, unsure = mass / used, _LIKELY * noise
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
        sure = _SURE * max(self.noise[name] for name in own)
        if not math.isfinite(sure) or sure > 0.25 / (len(own) + 1):
            return []
        said = []
        rare = [level for name, level in own.items() if self.share[name] < sure]
        if rare:
            said.append(
                f"hardly any row is {' or '.join(map(repr, rare))} in {column!r} (each at most about {2 * sure:.1%}): "
                "noise decides the coefficient. Check the spelling against the data's documentation, since other "
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
    if 1.0 - abs(mean) + _LIKELY * noise > _AT_END:
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
