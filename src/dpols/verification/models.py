"""A model against the report in its file: what it predicts by must be what the report says."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ..algorithms import ALGORITHMS, GENERALISED
from ..data.bounds import range_text
from ..errors import ModelFileError
from ..feature_map import FeatureMap
from ..fitting.describing import EXPOSURE_IS_PUBLIC, declared_of, estimates_of, references_of
from ..inference import Inference
from ..report.basis import digest_of
from .finding import ROUNDING, Finding


def compared(content: dict[str, Any]) -> Iterator[Finding]:
    """Compare all that a model file holds beside its report with it."""
    yield _coefficients(content)
    yield _columns(content)
    yield _outcome(content)
    yield from _intervals(content)
    yield from _ranges(content)


def _coefficients(content: dict[str, Any]) -> Finding:
    """Compare the coefficients by which a model predicts with those in its report."""
    try:
        model = [*content["coef"], content["intercept"]]
        listed = [line["value"] for line in content["report"]["coefficients"]]
    except (KeyError, TypeError):
        raise ModelFileError("the model file lacks coefficients.") from None
    # Without an intercept the report lists one coefficient less.
    same = model[: len(listed)] == listed and not any(model[len(listed) :])
    return Finding("coefficients", same, "those of the report" if same else "differ from those of the report")


def _columns(content: dict[str, Any]) -> Finding:
    """Compare which columns a model multiplies by its coefficients, and their ranges, with what its report says."""
    try:
        given, names = content["feature_map"], content["feature_names"]
        feature_map = None if given is None else FeatureMap.from_dict(given)
        if feature_map is not None:
            names = list(feature_map.names)
        elif names is None:
            names = [f"x{place}" for place in range(len(content["coef"]))]
        listed = [line["name"] for line in content["report"]["coefficients"]]
        stated = [tuple(line) for line in content["report"]["bounds"]]
        low, high = content["target_range"]
        target = next(text for name, text in reversed(stated) if name == "target")
        same = listed in (names, [*names, "intercept"]) and content["report"]["n_features"] == len(listed)
        same = same and str(target).endswith(range_text((low, high)))
    except (KeyError, StopIteration, TypeError, ValueError):
        raise ModelFileError("the model file lacks a part of its columns or of their ranges.") from None
    if feature_map is not None:
        same = same and _is_that_of(feature_map, content["report"], (low, high))
        same = same and content["feature_names"] in (None, list(feature_map.raw_columns))
    levels = [list(pair) for pair in references_of(feature_map)]
    same = same and content["report"].get("reference_levels") == levels
    same = same and content["report"].get("formula") == (None if feature_map is None else feature_map.formula)
    return Finding("columns and ranges", same, "those of the report" if same else "differ from those of the report")


def _is_that_of(feature_map: FeatureMap, report: dict[str, Any], target: tuple[float, float]) -> bool:
    """Return whether a feature map is what a report states: as declared, or as limits of ranges that were found."""
    if feature_map.target in (None, target) and _begins_with(report, declared_of(feature_map, found=False)):
        return True
    found = report.get("bounds_origin") in ("paid", "data")  # the latter where limits were read from the data
    found = found and (not feature_map.target_transform or feature_map.target == target)  # which predictions are cut to
    return found and _begins_with(report, declared_of(feature_map, found=True))


def _begins_with(report: dict[str, Any], declared: tuple[tuple[str, str], ...]) -> bool:
    """Return whether the bounds of a report begin with what is declared of columns, in their order."""
    return tuple(tuple(line) for line in report["bounds"][: len(declared)]) == declared


def _outcome(content: dict[str, Any]) -> Finding:
    """Compare what a model predicts with what its report says: family, labels, exposure, a function of the target."""
    report = content["report"]
    try:
        method = (ALGORITHMS | GENERALISED).get(report["method"])
        family = None if method is None else method.family
        labels = [str(label) for label in content.get("classes", ())]
        feature_map = None if content["feature_map"] is None else FeatureMap.from_dict(content["feature_map"])
        stated = {name: text for name, text in report["bounds"]}  # of a name that a column has, too, the last
        target, exposed = stated["target"], EXPOSURE_IS_PUBLIC in report["assumed_public"]
        same = (content["family"], labels) == (family, report["labels"])
        if labels:  # the number 1 is another label than the text of it
            no, yes = content["classes"]
            said = f"the labels {no!r} (no) and {yes!r} (yes)"
            same = same and any(str(text).startswith(said) for text in report["assumed_public"])
        same = same and _as_range(content.get("exposure_range")) == (stated["exposure"] if exposed else None)
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("the model file lacks a part of what it predicts.") from None
    if feature_map is not None and feature_map.formula is not None:  # else targets may have a name of their own
        same = same and report.get("target_name") == feature_map.fitted_name
    fitted = "" if feature_map is None or not feature_map.target_transform else f" of {feature_map.fitted_name}, where"
    same = same and (fitted in str(target) if fitted else " of " not in str(target))
    return Finding("what is predicted", same, "that of the report" if same else "differs from that of the report")


def _as_range(ends: Any) -> str | None:
    """Return a range as reports write it."""
    if ends is None:
        return None
    low, high = ends
    return range_text((low, high))


def _intervals(content: dict[str, Any]) -> Iterator[Finding]:
    """Compare what a model's summary is computed from, and the estimates that it prints, with its report."""
    given, listed = content.get("inference"), content["report"].get("estimates")
    stated = content["report"].get("inference_hash")
    try:
        inference = None if given is None else Inference.from_dict(given)
        found = () if inference is None else estimates_of(inference)
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("the model file lacks a part of its intervals.") from None
    if given is None and not listed and stated is None:
        return
    same = stated == (None if given is None else digest_of(given)) and isinstance(listed, list)
    same = same and len(found) == len(listed)
    same = same and (inference is None or content["report"].get("rows_used") == round(inference.rows_told))
    same = same and all(_alike(asdict(one), other) for one, other in zip(found, listed, strict=True))
    yield Finding("intervals", same, "those of the report" if same else "differ from those of the report")


def _alike(one: dict[str, Any], other: Any) -> bool:
    if not isinstance(other, dict) or one.keys() != other.keys():
        return False
    return all(
        math.isclose(value, other[name], rel_tol=ROUNDING)
        if isinstance(value, float) and isinstance(other[name], int | float)
        else value == other[name]
        for name, value in one.items()
    )


def _ranges(content: dict[str, Any]) -> Iterator[Finding]:
    """Compare where the ranges of a model's features come from with what its report says."""
    feature_map = content.get("feature_map")
    if not isinstance(feature_map, dict):
        return
    own, stated = feature_map.get("origin"), content["report"].get("bounds_origin")
    if own == "data":
        same = stated == "data"
        yield Finding("origin of the bounds", same, "the data" if same else "the data, while the report says otherwise")
    elif stated == "declared":
        same = own in (None, "declared")
        yield Finding("origin of the bounds", same, "declared" if same else "not declared, as the report says")
