"""``dpols verify``: a report computed anew."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as given
from .console import out as console
from .console import print_table

if TYPE_CHECKING:
    from ..verification import Finding

_DIFFERS, _NOT_PRIVATE = 1, 3


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Model file, or report that was saved as .json or .html.")
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(help="Ledger that the fit was charged to: it must hold the entry that the report names."),
    ] = None,
    json: given.Json = False,
) -> None:
    """Compute a report's cost anew from the releases that it lists, and say what differs.

    The exit code is 0 where everything holds, 1 where something differs, 2 where there is no report to be read, and 3
    where the accounting holds of a fit that is not private as it was configured: with a seed, or with bounds that were
    read from the data.
    """
    from ..ledger import BudgetLedger
    from ..verification import verify_file

    findings = verify_file(file, ledger=None if ledger is None else BudgetLedger(ledger))
    adds_up = all(finding.holds for finding in findings if finding.about == "accounting")
    private = all(finding.holds for finding in findings if finding.about == "privacy")
    if json:
        found = [asdict(finding) for finding in findings]
        answer = {"ok": adds_up and private, "accounting_holds": adds_up, "private": private, "findings": found}
        typer.echo(json_format.dumps(answer, indent=2))
    else:
        rows = [(_mark(finding), finding.what, finding.detail) for finding in findings]
        print_table(f"Verification of {file.name}", ("", "what", "found"), rows)
        console.print(_verdict(adds_up, private), soft_wrap=True)
    raise typer.Exit(_DIFFERS if not adds_up else 0 if private else _NOT_PRIVATE)


def _mark(finding: "Finding") -> str:
    if finding.holds:
        return "ok"
    return "NO" if finding.about == "privacy" else "DIFFERS"


def _verdict(adds_up: bool, private: bool) -> str:
    if not adds_up:
        return f"NOT OK: see what differs above.{'' if private else ' The fit is not private as configured, either.'}"
    if not private:
        return "NOT PRIVATE: the accounting checks out, but the fit is not private as configured; see why above."
    return "OK: everything that can be computed anew agrees, and the fit is private as configured."
