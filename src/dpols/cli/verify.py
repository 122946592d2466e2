"""``dpols verify``: a report computed anew."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from . import options as given
from .console import out as console
from .console import print_table


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Model file, or report that was saved as .json or .html.")
    ],
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger that the fit was charged to: its releases must be an entry there.")
    ] = None,
    json: given.Json = False,
) -> None:
    """Compute a report's cost anew from the releases that it lists, and say what differs.

    The exit code is 0 where everything holds and 1 where something does not.
    """
    from ..ledger import BudgetLedger
    from ..verification import verify_file

    findings = verify_file(file, ledger=None if ledger is None else BudgetLedger(ledger))
    holds = all(finding.holds for finding in findings)
    if json:
        typer.echo(json_format.dumps({"ok": holds, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        rows = [("ok" if finding.holds else "DIFFERS", finding.what, finding.detail) for finding in findings]
        print_table(f"Verification of {file.name}", ("", "what", "found"), rows)
        console.print(
            "OK: everything that can be computed anew agrees." if holds else "NOT OK: see what differs above."
        )
    raise typer.Exit(0 if holds else 1)
