"""The app as pages: which address shows what, and how mistakes are shown."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import DpolsError
from ..pages import environment
from ..seen_text import visible
from .choices import Choices
from .costs import gauge_or_none
from .declaring import ready
from .fits import Runner, fits_of
from .forms import FormError
from .guard import Guard
from .planner import Planner
from .project import Project, Projects

_MOST_FIELDS = 20_000
STEPS = {
    "data": "Data",
    "model": "Model",
    "bounds": "Bounds",
    "plan": "Plan",
    "confirm": "Confirm and fit",
    "results": "Result",
}
STATIC = Path(__file__).parent / "static"


@dataclass
class Site:
    """What all pages share."""

    projects: Projects
    uploads: Path  # private, and deleted when the app ends
    ledger: Path | None  # of all projects, where one was given
    planner: Planner
    runner: Runner

    @classmethod
    def of(cls, folder: Path, uploads: Path, ledger: Path | None = None, *, keep: tuple[int, ...] = ()) -> "Site":
        """Return the site of a folder of projects; fits inherit the files in ``keep``, which lock the uploads."""
        return cls(Projects(folder), uploads, ledger, Planner(), Runner(keep))


@dataclass(frozen=True)
class Visit:
    """One request to a page of a project, with what was sent."""

    site: Site
    request: Request
    project: Project
    fields: Mapping[str, str]
    files: Mapping[str, UploadFile]

    def path(self, *parts: object) -> str:
        """Return the address of a page of this project."""
        return "/".join(("", "p", self.project.key, *map(str, parts)))

    def number(self) -> int:
        """Return the number of the fit that the address names."""
        return int(self.request.path_params["number"])


View = Callable[[Visit], Response]


def page(template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any) -> Response:
    """Return a page."""
    made = environment(__package__)
    made.filters.setdefault("visible", visible)
    return HTMLResponse(made.get_template(template).render(values), status, headers=dict(headers or {}))


def project_page(
    visit: Visit, template: str, *, step: str, problems: tuple[tuple[str, str], ...] = (), **values: Any
) -> Response:
    """Return a page of a project, with the steps of the walk and the gauge of its ledger."""
    choices = visit.project.choices()
    shared: dict[str, Any] = {
        "project": visit.project,
        "name": choices.name,
        "step": step,
        "steps": _steps(visit, choices),
        "gauge": gauge_or_none(choices),
        "problems": problems,
        "wrong": {name for name, _ in problems},
    }
    return page(template, status=422 if problems else 200, **shared, **values)


def _steps(visit: Visit, choices: Choices) -> list[dict[str, Any]]:
    """Return the steps of the walk, and which of them can be gone to."""
    names = list(STEPS)
    reached = names.index(ready(choices))
    results = bool(fits_of(visit.project))
    return [
        {"key": key, "title": title, "open": i <= reached if key != "results" else results, "path": visit.path(key)}
        for i, (key, title) in enumerate(STEPS.items())
    ]


def go(path: str) -> Response:
    """Return a redirect to a page, after which reloading sends nothing again."""
    return RedirectResponse(path, 303)


def of_project(view: View) -> Callable[[Request], Any]:
    """Let a function of a visit answer requests; it runs in a thread, so that others are answered meanwhile."""

    async def answer(request: Request) -> Response:
        site: Site = request.app.state.site
        project = await run_in_threadpool(site.projects.find, request.path_params["key"])
        if project is None:
            raise HTTPException(404, "There is no such project.")
        fields: dict[str, str] = {}
        files: dict[str, UploadFile] = {}
        if request.method == "POST":
            async with request.form(max_files=1, max_fields=_MOST_FIELDS) as form:
                for name, value in form.multi_items():
                    if isinstance(value, UploadFile):
                        files[name] = value
                    else:
                        fields[name] = value
                return await run_in_threadpool(view, Visit(site, request, project, fields, files))
        fields.update(request.query_params)
        return await run_in_threadpool(view, Visit(site, request, project, fields, files))

    return answer


async def on_mistake(request: Request, error: Exception) -> Response:
    """Show what dpols says of a mistake; its messages never quote a row."""
    text = " ".join((str(error), *getattr(error, "__notes__", ())))
    problems = error.problems if isinstance(error, FormError) else (("", text),)
    return await run_in_threadpool(_mistake, request, problems)


def _mistake(request: Request, problems: Any) -> Response:
    return page("problem.html", status=422, title="This did not work", problems=problems, back=_back(request))


def _back(request: Request) -> str:
    key = request.path_params.get("key")
    return "/" if key is None else f"/p/{key}"


async def on_status(request: Request, error: Exception) -> Response:
    """Show that there is no such page, or that a request was malformed."""
    assert isinstance(error, HTTPException)
    text = error.detail if error.status_code == 404 else "This request could not be read."
    return page("problem.html", status=error.status_code, title="No such page", problems=(("", text),), back="/")


class Shield:
    """Answers where something unexpected happened, and says nothing of it: another library's words may quote a cell."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:  # whatever it is, its message must not reach a log
            answer = _unexpected(scope["path"], error)
            if not begun:
                await answer(scope, receive, send)


def _unexpected(path: str, error: Exception) -> Response:
    where = "".join(
        f"  {frame.filename}:{frame.lineno} in {frame.name}\n"
        for frame in traceback.extract_tb(error.__traceback__)[-6:]
    )
    print(f"unexpected {type(error).__name__} in {visible(path)}:\n{where}", end="", flush=True)
    problem = (
        f"Something unexpected happened ({type(error).__name__}); it may be a bug of dpols. The page Result shows "
        "whether a fit was made, and the history what was spent. The window of 'dpols app' says where it happened."
    )
    return page("problem.html", status=500, title="Unexpected", problems=(("", problem),), back="/")


async def static(request: Request) -> Response:
    """Return the style sheet, which reports share, with what only the app has; or the script."""
    if request.path_params["name"] == "style.css":
        made = environment(__package__)
        text = made.get_template("style.css").render() + (STATIC / "app.css").read_text(encoding="utf-8")
        return Response(text, media_type="text/css")
    if request.path_params["name"] == "app.js":
        return Response((STATIC / "app.js").read_text(encoding="utf-8"), media_type="text/javascript")
    raise HTTPException(404, "There is no such page.")


def application(site: Site, *, token: str, port: int) -> Starlette:
    """Return the whole app, guarded."""
    from . import bounds_page, data_page, fit_page, home_page, model_page, plan_page, result_page

    routes = [Route("/static/{name}", static), *home_page.ROUTES]
    for module in (data_page, model_page, bounds_page, plan_page, fit_page, result_page):
        routes += [
            Route(f"/p/{{key}}{path}", of_project(view), methods=[method]) for method, path, view in module.VIEWS
        ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token, port=port), Middleware(Shield)],
        exception_handlers={DpolsError: on_mistake, HTTPException: on_status},
    )
    app.state.site = site
    return app
