"""``dpols app``: the same work in a browser, on one's own machine."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ParameterError


def app(
    folder: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the projects; created if it does not exist.")
    ] = Path("dpols-projects"),
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port; by default any free one.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open no browser.")] = False,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Charge all fits to this ledger; see "dpols ledger create".'),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Make a project on made-up employees, to try the app at once.")
    ] = False,
) -> None:
    """Fit private regressions in the browser: data, model, bounds, plan, fit and result.

    Runs on this machine alone, and answers only the browser that has the printed link. Projects are folders of plain
    files that the other commands can use. Ctrl-C ends it.
    """
    from ..app.server import check_locks, serve

    check_locks()  # before a folder is made
    if ledger is not None:
        from ..ledger import BudgetLedger

        ledger = BudgetLedger(ledger).path
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"--folder {str(folder)!r} is a file; name a folder.")
    if demo:
        from .app_demo import demo_project

        demo_project(folder)
    serve(folder, port=port, ledger=ledger, browser=not no_browser, say=typer.echo)
