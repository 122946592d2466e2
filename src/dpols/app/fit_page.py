"""Confirm and fit: what will be spent, once and for good."""

from starlette.responses import JSONResponse, Response

from ..errors import DpolsError
from .choices import Choices
from .costs import cost
from .declaring import declared_map, outline, ready
from .equivalents import command_line
from .fits import Fit, fit_of, fits_of
from .project import digest
from .site import Visit, go, project_page


def confirm(visit: Visit, problem: str = "") -> Response:
    """Show what the next fit will spend, with a form that makes it once."""
    choices = visit.project.choices()
    if ready(choices) != "confirm":
        return go(visit.path(ready(choices)))
    assert choices.plan is not None
    assert choices.model is not None
    assert choices.data is not None
    made, shown = fits_of(visit.project), digest(choices)
    running = next((fit for fit in made if fit.status == "running"), None)
    same = next((fit for fit in made if fit.digest == shown and fit.status == "done"), None)
    try:
        plan = choices.plan
        found = cost(choices, epsilon=plan.epsilon, delta=plan.delta, inference=plan.inference)
    except (DpolsError, OSError) as error:
        found, problem = None, problem or str(error)
    return project_page(
        visit,
        "confirm.html",
        step="confirm",
        problems=(("", problem),) if problem else (),
        data=choices.data,
        model=choices.model,
        plan=choices.plan,
        ranges=choices.ranges,
        declared=_described(choices),
        formula=outline(choices.model),
        cost=found,
        number=len(made) + 1,
        digest=shown,
        running=running,
        same=same,
        command=command_line(choices),
    )


def _described(choices: Choices) -> list[tuple[str, str]]:
    """Return each column with what is declared of it, the outcome first."""
    declared = declared_map(choices)
    assert choices.model is not None
    low, high = declared.target or (0.0, 1.0)
    return [(choices.model.target, f"[{low:g}, {high:g}]"), *declared.describe()]


def make(visit: Visit) -> Response:
    """Make the fit that the page showed, unless it has been made, and go to its page."""
    number, shown = visit.fields.get("number", ""), visit.fields.get("digest", "")
    if not number.isdecimal() or not 0 < int(number[:9]) < 10**6:
        return confirm(visit, "This form is not complete. Nothing was spent.")
    same = [fit for fit in fits_of(visit.project) if fit.digest == shown and fit.status == "done"]
    if fit_of(visit.project, int(number)) is None and same and visit.fields.get("again") != "yes":
        return confirm(visit, "This fit has been made before. To spend again for fresh noise, say so below.")
    try:
        fit = visit.site.runner.start(visit.project, int(number), shown)
    except DpolsError as error:
        return confirm(visit, str(error))
    other = "" if fit.digest == shown else "?other=yes"
    return go(visit.path("fits", f"{fit.number}{other}"))


def state(visit: Visit) -> Response:
    """Return how a fit stands, for the script that waits for it."""
    fit = fit_of(visit.project, visit.number())
    visit.site.runner.reap()
    if fit is None:
        return JSONResponse({"status": "failed"}, 404)
    return JSONResponse({"status": fit.status, **fit.progress()})


def waiting(visit: Visit, fit: Fit) -> Response:
    """Show that a fit runs."""
    return project_page(visit, "running.html", step="confirm", fit=fit, progress=fit.progress())


def failed(visit: Visit, fit: Fit) -> Response:
    """Show why a fit failed, and what became of its charge."""
    data = fit.choices.data
    assert data is not None
    return project_page(
        visit,
        "failed.html",
        step="confirm",
        fit=fit,
        message=fit.message(),
        refused=data.ledger in fit.message(),
        charges=fit.charges(),
        ledger=data.ledger,
    )


VIEWS = (
    ("GET", "/confirm", confirm),
    ("POST", "/confirm", make),
    ("GET", "/fits/{number:int}/state", state),
)
