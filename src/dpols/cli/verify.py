"""``dpols verify``: a report computed anew."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from . import options as given
from .console import out as console
from .console import print_json, print_table

# By what does not hold, the first that applies: the mark of a finding, the exit code and the verdict.
_VERDICTS = {
    "accounting": ("DIFFERS", 1, "NOT OK: see what differs above."),
    "privacy": (
        "NO",
        3,
        "NOT PRIVATE: the accounting checks out, but the fit is not private as configured; see why above.",
    ),
    "unchecked": (
        "?",
        4,
        "CANNOT BE CHECKED: by its own word another version of dpols wrote this, so it cannot be compared in full.",
    ),
}
_OK = "OK: everything that can be computed anew agrees, and the fit is private as configured."
_TAKEN_FROM_THE_REPORT = (
    "Coefficients, verdict, bounds, what a unit is, and descriptions are as the report states them; only the ledger of "
    "the fit shows whether they were changed (--ledger)."
)


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
    failed = [about for about in _VERDICTS if any(f.about == about and not f.holds for f in findings)]
    _, code, verdict = _VERDICTS[failed[0]] if failed else ("ok", 0, _OK)
    if failed[:2] == ["accounting", "privacy"]:
        verdict += " The fit is not private as configured, either."
    if json:
        answer = {
            "ok": not failed,
            "accounting_holds": "accounting" not in failed,
            "private": "privacy" not in failed,
            "all_checked": "unchecked" not in failed,
            "findings": [asdict(finding) for finding in findings],
        }
        print_json(answer)
    else:
        rows = [("ok" if f.holds else _VERDICTS[f.about][0], f.what, f.detail) for f in findings]
        print_table(f"Verification of {file.name}", ("", "what", "found"), rows)
        if ledger is None:
            console.print(_TAKEN_FROM_THE_REPORT, soft_wrap=True)
        console.print(verdict, soft_wrap=True)
    raise typer.Exit(code)
