"""The first page: all projects, and a new one."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import DpolsError
from .declaring import ready
from .fits import fits_of
from .site import STEPS, Site, go, page


async def home(request: Request) -> Response:
    """List the projects."""
    return await run_in_threadpool(_home, request.app.state.site)


async def create(request: Request) -> Response:
    """Make a project, and go to its first page."""
    async with request.form() as form:
        name = str(form.get("name", ""))
    site: Site = request.app.state.site
    try:
        project = await run_in_threadpool(site.projects.create, name)
    except DpolsError as error:
        return await run_in_threadpool(_home, site, (("name", str(error)),))
    return go(f"/p/{project.key}/data")


def _home(site: Site, problems: tuple[tuple[str, str], ...] = ()) -> Response:
    lines = []
    for project in site.projects.all():
        try:
            choices = project.choices()
        except DpolsError as error:
            lines.append({"key": project.key, "name": project.key, "state": str(error), "table": ""})
            continue
        made = len(fits_of(project))
        step = f"{made} fit{'s' if made > 1 else ''}" if made else f"next: {STEPS[ready(choices)]}"
        table = "" if choices.data is None else choices.data.path.rpartition("/")[2]
        lines.append({"key": project.key, "name": choices.name, "state": step, "table": table})
    wrong = {name for name, _ in problems}
    status = 422 if problems else 200
    return page("home.html", status=status, projects=lines, folder=site.projects.folder, problems=problems, wrong=wrong)


ROUTES = [Route("/", home), Route("/projects", create, methods=["POST"])]
