"""Bounds: the public range of each column, what an empty cell counts as, and whether the ranges are narrow enough."""

from dataclasses import dataclass, replace
from pathlib import Path

from starlette.responses import Response

from ..errors import DpolsError
from ..storage.placed_file import write_whole
from .choices import Choices, Limit, Model, Plan, Ranges
from .costs import method_of
from .declaring import bounds_text, declared, outline
from .forms import FormError, Reader, number_in
from .site import Visit, go, page, project_page
from .tables import header_of, table_at

_EPSILON, _DELTA = 1.0, "1/n^2"  # to advise for, before a plan is made


@dataclass(frozen=True)
class Row:
    """A line of the form."""

    place: int
    limit: Limit
    levels: tuple[str, ...]
    is_target: bool


def show(visit: Visit, problems: tuple[tuple[str, str], ...] = (), ranges: Ranges | None = None) -> Response:
    """Show the form, with what was chosen or typed."""
    choices = visit.project.choices()
    if choices.data is None or choices.model is None:
        return go(visit.path("model"))
    shown = ranges or choices.ranges or Ranges(False, "", ())
    return project_page(
        visit,
        "bounds.html",
        step="bounds",
        problems=problems,
        rows=_rows(choices.model, choices.data.names, shown),
        ranges=shown,
        family=choices.model.family,
        formula=outline(choices.model),
        advice=_advice(choices, shown),
        reference=visit.fields.get("reference", ""),
    )


def _rows(model: Model, names: list[str], ranges: Ranges) -> list[Row]:
    target = [] if model.kind == "yes-no" else [Row(names.index(model.target), ranges.of(model.target), (), True)]
    features = [Row(names.index(f.name), ranges.of(f.name), f.levels, False) for f in model.features]
    return [*target, *features]


def save(visit: Visit) -> Response:
    """Keep the ranges and write the bounds file, or fill the form from a public table."""
    choices = visit.project.choices()
    if choices.data is None or choices.model is None:
        return go(visit.path("model"))
    ranges = _typed(visit, choices)
    try:
        if visit.fields.get("fill"):
            return show(visit, ranges=_filled(visit, choices, ranges))
        text = bounds_text(choices.model, ranges, choices.data)
        declared(text)
    except FormError as error:
        return show(visit, error.problems, ranges)
    except DpolsError as error:
        return show(visit, (("", f"The bounds do not work: {error}"),), ranges)
    with visit.project.lock:
        visit.project.change(ranges=ranges)
        write_whole(visit.project.bounds_file, text.encode())
    return go(visit.path("plan"))


def advise(visit: Visit) -> Response:
    """Return advice on what is typed, as a part of the page."""
    choices = visit.project.choices()
    if choices.data is None or choices.model is None:
        return page("advice.html", advice=None)
    return page("advice.html", advice=_advice(choices, _typed(visit, choices)))


def _typed(visit: Visit, choices: Choices) -> Ranges:
    assert choices.data is not None
    assert choices.model is not None
    fields = Reader(visit.fields)
    names = choices.data.names
    used = [choices.model.target, *(feature.name for feature in choices.model.features)]
    typed = [
        Limit(name, *(fields.text(f"{part}-{names.index(name)}")[:100] for part in ("low", "high", "missing")))
        for name in used
    ]
    before = () if choices.ranges is None else choices.ranges.limits
    kept = [limit for limit in before if limit.name in names and limit.name not in used]
    paid = fields.text("way") == "paid" and choices.model.family == "gaussian"
    return Ranges(paid, fields.text("origin")[:300], (*typed, *kept))


def _filled(visit: Visit, choices: Choices, ranges: Ranges) -> Ranges:
    """Return ranges with those of a public table in them, a tenth wider on either side."""
    from ..data import Bounds, read

    assert choices.model is not None
    assert choices.data is not None
    typed = visit.fields.get("reference", "").strip()
    if not typed:
        raise FormError(("reference", "Type the path of a table that is public."))
    path = table_at(typed, "reference")
    if path.resolve() == Path(choices.data.path).resolve():
        raise FormError(("reference", "This is the data itself, whose ranges are not public. Name a public table."))
    there = {column.name for column in header_of(path, "reference")}
    wanted = [name for name in choices.model.numbers if name in there]
    if not wanted:
        raise FormError(("reference", f"{path.name!r} has none of the columns that need a range."))
    try:
        found = Bounds.from_reference(read(path, None, wanted)).features
    except DpolsError as error:
        raise FormError(("reference", str(error))) from None
    assert isinstance(found, dict)
    limits = {limit.name: limit for limit in ranges.limits}
    for name, (low, high) in found.items():
        limits[name] = Limit(name, f"{low:.6g}", f"{high:.6g}", ranges.of(name).missing)
    origin = ranges.origin or f"the public table {path.name}"
    return Ranges(ranges.paid, origin, tuple(limits.values()))


@dataclass(frozen=True)
class Advice:
    """How many standard deviations bounds may reach, the least standard deviation by column, and what to do."""

    room: float
    rows: int
    epsilon: float
    least: tuple[tuple[str, str], ...]
    items: tuple[str, ...]


def _advice(choices: Choices, ranges: Ranges) -> Advice | None:
    """Return what public numbers say of the ranges, None where they are not complete."""
    from ..privacy.budget import budget_for
    from ..side_releases.bounds_advice import advice_on_room, room_for_width

    data, model = choices.data, choices.model
    assert data is not None
    assert model is not None
    plan = choices.plan or Plan(_EPSILON, _DELTA, False, "raise", 0.5)
    n_units = -(-data.rows // data.rows_per_unit)
    try:
        bounds = declared(bounds_text(model, ranges, data)).bounds()
        bounds = replace(bounds, target=(0.0, 1.0)) if model.kind == "yes-no" else bounds
        assert isinstance(bounds.features, dict)
        names = list(bounds.features)
        row_map = bounds.row_map(n_features=len(names), columns=names, fit_intercept=True)
        planned = method_of(model.family, inference=plan.inference).plan(
            budget_for(plan.epsilon, _delta(plan.delta), data.rows), n_rows=n_units, n_features=row_map.n_coordinates
        )
    except DpolsError:
        return None
    room = room_for_width(row_map, planned.releases, n_units)
    limits = [ranges.of(name) for name in model.numbers if name != model.target]
    least = tuple((limit.name, f"{_half_width(limit) / room:.3g}") for limit in limits)
    return Advice(room, data.rows, plan.epsilon, least, advice_on_room(room))


def _half_width(limit: Limit) -> float:
    return 0.5 * ((number_in(limit.high) or 0.0) - (number_in(limit.low) or 0.0))


def _delta(text: str) -> float | str:
    number = number_in(text)
    return text if number is None else number


VIEWS = (("GET", "/bounds", show), ("POST", "/bounds", save), ("POST", "/bounds/advice", advise))
