"""Plan: what to expect at each epsilon, what a fit costs and what is left, before anything is spent."""

from typing import Any

from starlette.responses import Response

from ..errors import DpolsError
from .choices import Choices, Plan
from .costs import Cost, cost, gauge_or_none
from .declaring import outline, ready
from .drawing import HEIGHT, WIDTH, charts
from .forms import FormError, Reader, number_in
from .planner import LARGEST, SMALLEST
from .site import Visit, go, page, project_page


def show(visit: Visit, problems: tuple[tuple[str, str], ...] = ()) -> Response:
    """Show the form and the picture."""
    choices = visit.project.choices()
    if ready(choices) not in ("plan", "confirm"):
        return go(visit.path(ready(choices)))
    assert choices.model is not None
    plan = choices.plan or Plan(1.0, "1/n^2", True, "raise", 0.3)
    values = {
        "epsilon": f"{plan.epsilon:g}",
        "delta": plan.delta,
        "r_squared": f"{plan.r_squared:g}",
        "bad_rows": plan.bad_rows,
        **({"inference": "yes"} if plan.inference else {}),
        **(visit.fields if problems else {}),
    }
    if problems and "inference" not in visit.fields:
        values.pop("inference", None)
    return project_page(
        visit,
        "plan.html",
        step="plan",
        problems=problems,
        values=values,
        kind=choices.model.kind,
        formula=outline(choices.model),
        rows=choices.data.rows if choices.data else 0,
        smallest=SMALLEST,
        largest=LARGEST,
        **_picture(visit, choices, plan),
    )


def picture(visit: Visit) -> Response:
    """Return the picture for what is typed, as a part of the page."""
    choices = visit.project.choices()
    if ready(choices) not in ("plan", "confirm"):
        return page("picture.html", problem="The pages before this one are not complete.", done=True)
    try:
        plan = _read(Reader(visit.fields), choices)
    except FormError as error:
        return page("picture.html", problem=str(error), done=True)
    return page("picture.html", **_picture(visit, choices, plan))


def _picture(visit: Visit, choices: Choices, plan: Plan) -> dict[str, Any]:
    from ..privacy.budget import budget_for

    assert choices.data is not None
    try:
        curve = visit.site.planner.curve(choices, inference=plan.inference, r_squared=plan.r_squared, delta=plan.delta)
        number = number_in(plan.delta)
        budget = budget_for(plan.epsilon, plan.delta if number is None else number, choices.data.rows)
        found: Cost | None = cost(choices, epsilon=plan.epsilon, delta=plan.delta, inference=plan.inference)
    except (DpolsError, OSError) as error:
        return {"problem": str(error), "done": True}
    return {
        "problem": curve.problem,
        "done": curve.done,
        "simulated": len(curve.points),
        "charts": charts(curve, plan.epsilon, budget.delta, choices.data.unit),
        "cost": found,
        "left": gauge_or_none(choices),
        "chosen": plan,
        "paid": choices.ranges is not None and choices.ranges.paid,
        "width": WIDTH,
        "height": HEIGHT,
    }


def save(visit: Visit) -> Response:
    """Keep the plan."""
    choices = visit.project.choices()
    if ready(choices) not in ("plan", "confirm"):
        return go(visit.path(ready(choices)))
    try:
        plan = _read(Reader(visit.fields), choices)
    except FormError as error:
        return show(visit, error.problems)
    visit.project.change(plan=plan)
    return go(visit.path("confirm"))


def _read(fields: Reader, choices: Choices) -> Plan:
    from ..privacy.budget import budget_for

    assert choices.data is not None
    epsilon = fields.number("epsilon", "Epsilon", low=1e-6, high=1000.0)
    r_squared = fields.number("r_squared", "The share that the features explain", low=0.0, high=0.99)
    delta = fields.text("delta") or "1/n^2"
    fields.done()
    try:
        number = number_in(delta)
        budget_for(epsilon, delta if number is None else number, choices.data.rows)
    except DpolsError as error:
        raise FormError(("delta", str(error))) from None
    inference = fields.text("inference") == "yes"
    bad_rows = "zero" if fields.text("bad_rows") == "zero" else "raise"
    return Plan(epsilon, delta, inference, bad_rows, r_squared)


VIEWS = (("GET", "/plan", show), ("GET", "/plan/picture", picture), ("POST", "/plan", save))
