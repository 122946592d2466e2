"""Model: what is predicted, from which columns, with which categories, squares and products."""

from starlette.responses import Response

from .choices import FAMILIES, Choices, Data, Feature, Model
from .declaring import outline
from .forms import FormError, Reader
from .site import Visit, go, project_page

_SLOTS = 3  # for products, beyond those that are filled
_MOST_LEVELS = 500
_MOST_PRODUCTS = 60


def show(visit: Visit, problems: tuple[tuple[str, str], ...] = ()) -> Response:
    """Show the form, with what was chosen or typed."""
    choices = visit.project.choices()
    if choices.data is None:
        return go(visit.path("data"))
    typed = dict(visit.fields) if problems else _typed(choices)
    filled = [i for i in range(_MOST_PRODUCTS) if f"left-{i}" in typed or f"right-{i}" in typed]
    return project_page(
        visit,
        "model.html",
        step="model",
        problems=problems,
        columns=choices.data.columns,
        unit=choices.data.unit,
        values=typed,
        slots=range(max(filled, default=-1) + 1 + (0 if problems else _SLOTS)),
        formula="" if choices.model is None or problems else outline(choices.model),
    )


def _typed(choices: Choices) -> dict[str, str]:
    """Return what the fields of the form hold."""
    data, model = choices.data, choices.model
    if data is None or model is None:
        return {"kind": "number"}
    places = {name: i for i, name in enumerate(data.names)}
    typed = {"target": str(places[model.target]), "kind": model.kind, "no": model.no, "yes": model.yes}
    for feature in model.features:
        place = places[feature.name]
        typed[f"use-{place}"] = "categories" if feature.levels else "number"
        typed[f"levels-{place}"] = ", ".join(feature.levels)
        if feature.square:
            typed[f"square-{place}"] = "yes"
    for i, (left, right) in enumerate(model.products):
        typed |= {f"left-{i}": str(places[left]), f"right-{i}": str(places[right])}
    return typed


def save(visit: Visit) -> Response:
    """Keep what was chosen."""
    choices = visit.project.choices()
    if choices.data is None:
        return go(visit.path("data"))
    try:
        model = _read(Reader(visit.fields), choices.data)
    except FormError as error:
        return show(visit, error.problems)
    visit.project.change(model=model)
    return go(visit.path("bounds"))


def _read(fields: Reader, data: Data) -> Model:
    names = data.names
    target = _column(fields.text("target"), names)
    if target is None:
        fields.wrong("target", "No outcome was chosen. Choose the column that is to be predicted.")
    kind = fields.text("kind")
    if kind not in FAMILIES:
        fields.wrong("kind", "Say what the outcome is: a number, yes or no, or a count.")
        kind = "number"
    no, yes = _labels(fields, kind)
    features = [feature for i, name in enumerate(names) if (feature := _feature(fields, i, name)) is not None]
    if not features:
        fields.wrong("use-0", "No feature was chosen. Choose at least one column that predicts.")
    for feature in features:
        if feature.name in (target, data.unit):
            what = "the outcome" if feature.name == target else "whose rows belong together"
            fields.wrong(f"use-{names.index(feature.name)}", f"{feature.name!r} is {what}; it cannot predict as well.")
    if target is not None and target == data.unit:
        fields.wrong("target", f"{target!r} says to whom a row belongs, and cannot be the outcome.")
    products = _products(fields, names, {feature.name for feature in features})
    fields.done()
    assert target is not None
    return Model(target, kind, no, yes, tuple(features), products)


def _labels(fields: Reader, kind: str) -> tuple[str, str]:
    if kind != "yes-no":
        return "", ""
    no, yes = fields.text("no"), fields.text("yes")
    if not no or not yes or no == yes or "," in no + yes:
        fields.wrong(
            "no",
            "A yes/no outcome needs two different labels, without commas, as they stand in the table: such as 0 and 1.",
        )
    return no, yes


def _feature(fields: Reader, place: int, name: str) -> Feature | None:
    use = fields.text(f"use-{place}")
    if use not in ("number", "categories"):
        return None
    if use == "number":
        return Feature(name, (), fields.text(f"square-{place}") == "yes")
    parts = (part.strip() for part in fields.text(f"levels-{place}").replace("\n", ",").split(","))
    levels = tuple(dict.fromkeys(part for part in parts if part))
    if not 2 <= len(levels) <= _MOST_LEVELS:
        fields.wrong(
            f"levels-{place}",
            f"{name!r} needs its categories: two to {_MOST_LEVELS}, with commas between them, from public knowledge.",
        )
    return Feature(name, levels, False)


def _products(fields: Reader, names: list[str], used: set[str]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for i in range(_MOST_PRODUCTS):
        if f"left-{i}" not in fields.fields and f"right-{i}" not in fields.fields:
            break
        left, right = (_column(fields.text(f"{side}-{i}"), names) for side in ("left", "right"))
        if left is None and right is None:
            continue
        if left is None or right is None or left == right or not {left, right} <= used:
            fields.wrong(f"left-{i}", "A product needs two different columns, both of which are features.")
        elif (left, right) not in found and (right, left) not in found:
            found.append((left, right))
    return tuple(found)


def _column(place: str, names: list[str]) -> str | None:
    return names[int(place)] if place.isdecimal() and int(place[:9]) < len(names) else None


VIEWS = (("GET", "/model", show), ("POST", "/model", save))
