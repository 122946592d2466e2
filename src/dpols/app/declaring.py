"""From what was typed on the pages to a bounds file, and to the model that it declares."""

import tomllib
from collections.abc import Iterator

from ..errors import BoundsError, DpolsError
from ..feature_map import FeatureMap
from ..feature_map.toml import feature_map_from_toml, one_line, toml_key
from .choices import Choices, Data, Feature, Limit, Model, Ranges
from .forms import FormError, number_in


def outline(model: Model) -> str:
    """Return the model as a formula, as far as it is known before the bounds are."""
    terms = [_quoted(feature.name) for feature in model.features]
    terms += [f"{_quoted(feature.name)}^2" for feature in model.features if feature.square]
    terms += [":".join(map(_quoted, product)) for product in model.products]
    return f"{_quoted(model.target)} ~ {' + '.join(terms)}"


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def bounds_text(model: Model, ranges: Ranges, data: Data) -> str:
    """Return the bounds file; FormError says which fields are missing or wrong."""
    problems = list(_problems(model, ranges, data.names))
    if problems:
        raise FormError(*problems)
    origin = " ".join(ranges.origin.split()) or "not stated"
    parts = [f'# Bounds for "dpols fit", written by dpols app. Where they come from: {origin}']
    if model.products:
        products = ", ".join(f"[{one_line(a)}, {one_line(b)}]" for a, b in model.products)
        parts.append(f"interactions = [{products}]")
    if model.kind != "yes-no":
        parts.append(f"\n[target]\nname = {one_line(model.target)}\n{_limits(ranges.of(model.target))}")
    for feature in model.features:
        parts.append(f"\n[features.{toml_key(feature.name)}]\n{_table(feature, ranges.of(feature.name))}")
    return "\n".join(parts) + "\n"


def declared(text: str) -> FeatureMap:
    """Return what a bounds file declares, as a fit reads it."""
    return feature_map_from_toml(tomllib.loads(text))


def declared_map(choices: Choices) -> FeatureMap:
    """Return what the choices declare; FormError says which fields are missing or wrong."""
    assert choices.data is not None
    assert choices.model is not None
    if choices.ranges is None:
        raise FormError(("", "The ranges of the columns are missing. Fill in the page Bounds."))
    try:
        return declared(bounds_text(choices.model, choices.ranges, choices.data))
    except BoundsError as error:
        raise FormError(("", f"The bounds do not work: {error}")) from None


def ready(choices: Choices) -> str:
    """Return the first page that is not filled in, or that no longer fits what was chosen before it."""
    if choices.data is None:
        return "data"
    if choices.model is None:
        return "model"
    try:
        declared_map(choices)
    except DpolsError:
        return "bounds"
    return "plan" if choices.plan is None else "confirm"


def _table(feature: Feature, limit: Limit) -> str:
    if feature.levels:
        levels = ", ".join(map(one_line, feature.levels))
        missing = f"missing = {one_line(limit.missing)}\n" if limit.missing else ""
        return f"categories = [{levels}]\n{missing}".rstrip()
    missing = f"\nmissing = {_number(limit.missing)}" if limit.missing else ""
    return f"{_limits(limit)}{missing}" + ("\ndegree = 2" if feature.square else "")


def _limits(limit: Limit) -> str:
    return f"low = {_number(limit.low)}\nhigh = {_number(limit.high)}"


def _number(text: str) -> str:
    value = number_in(text)
    assert value is not None
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _problems(model: Model, ranges: Ranges, names: list[str]) -> Iterator[tuple[str, str]]:
    for name in model.numbers:
        yield from _wrong_range(
            ranges.of(name), names.index(name), count=model.kind == "count" and name == model.target
        )
    for feature in model.features:
        limit, place = ranges.of(feature.name), names.index(feature.name)
        if feature.levels and limit.missing and limit.missing.casefold() not in map(str.casefold, feature.levels):
            yield (
                f"missing-{place}",
                f"{feature.name!r}: an empty cell must count as one of {', '.join(feature.levels)}.",
            )


def _wrong_range(limit: Limit, place: int, *, count: bool) -> Iterator[tuple[str, str]]:
    known = True
    for end, text in (("low", limit.low), ("high", limit.high)):
        if number_in(text) is None:
            known = False
            found = f"{text[:40]!r} is no number" if text else f"{end} is missing"
            yield f"{end}-{place}", f"{limit.name!r}: {found}. Type what such a column can hold, from public knowledge."
    low, high = number_in(limit.low) or 0.0, number_in(limit.high) or 0.0
    if known and not low < high:
        yield f"high-{place}", f"{limit.name!r}: high must be above low; {low:g} and {high:g} were typed."
    elif known and count and low < 0.0:
        yield f"low-{place}", f"{limit.name!r}: a count cannot be below 0. Type 0 as its low."
    if limit.missing and known:
        missing = number_in(limit.missing)
        if missing is None or not low <= missing <= high:
            yield f"missing-{place}", f"{limit.name!r}: an empty cell must count as a number from {low:g} to {high:g}."
