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

_DIFFERS, _NOT_PRIVATE, _UNCHECKED = 1, 3, 4


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
    """Recompute a report's cost from the releases that it lists, and say what differs.

    A page is also written again from the data that it holds, and the two are compared.

    The exit code is 0 if everything holds, 1 if something differs, and 2 if there is no report to read. It is 3 if the
    accounting holds but the fit is not private as configured: with a seed, or with bounds that were read from the data.
    It is 4 if another version of dpols wrote the page, so that not all of it can be checked.
    """
    from ..ledger import BudgetLedger
    from ..verification import verify_file

    findings = verify_file(file, ledger=None if ledger is None else BudgetLedger(ledger))
    adds_up = all(finding.holds for finding in findings if finding.about == "accounting")
    private = all(finding.holds for finding in findings if finding.about == "privacy")
    checked = all(finding.holds for finding in findings if finding.about == "unchecked")
    if json:
        answer = {
            "ok": adds_up and private and checked,
            "accounting_holds": adds_up,
            "private": private,
            "all_checked": checked,
            "findings": [asdict(finding) for finding in findings],
        }
        typer.echo(json_format.dumps(answer, indent=2))
    else:
        rows = [(_mark(finding), finding.what, finding.detail) for finding in findings]
        print_table(f"Verification of {file.name}", ("", "what", "found"), rows)
        console.print(_verdict(adds_up, private, checked), soft_wrap=True)
    raise typer.Exit(_DIFFERS if not adds_up else _NOT_PRIVATE if not private else 0 if checked else _UNCHECKED)


def _mark(finding: "Finding") -> str:
    if finding.holds:
        return "ok"
    return {"privacy": "NO", "unchecked": "?", "accounting": "DIFFERS"}[finding.about]


def _verdict(adds_up: bool, private: bool, checked: bool) -> str:
    if not adds_up:
        return f"NOT OK: see what differs above.{'' if private else ' The fit is not private as configured, either.'}"
    if not private:
        return "NOT PRIVATE: the accounting checks out, but the fit is not private as configured; see why above."
    if not checked:
        return "CANNOT BE CHECKED: nothing was found to differ, but another version of dpols wrote this; see above."
    return "OK: everything that can be computed anew agrees, and the fit is private as configured."
