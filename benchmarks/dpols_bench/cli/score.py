"""``dpols-bench score``: how accurate methods are, over many data sets and epsilons; resumable."""

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dpols.cli import options as given
from dpols.cli.console import print_table

from .runs import Folder, Jobs, SixEpsilons, check_folder, progress_bar


def score(
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B", help="Data sets by name; all real ones and the made-up families.")
    ] = None,
    epsilons: SixEpsilons = None,
    trials: Annotated[int | None, typer.Option(help="At most so many for each mean: 200, or 8 with --quick.")] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Score also fewer and more gradient steps.")] = False,
    ablations: Annotated[bool, typer.Option("--ablations", help="Score also each part of the default.")] = False,
    jobs: Jobs = 0,
    out: Folder = Path("scores"),
    quick: Annotated[bool, typer.Option("--quick", help="Few trials.")] = False,
    json: given.Json = False,
) -> None:
    """Score methods against the paper's IHM, zero and two oracles: run again to go on after an interruption.

    Writes scores.html, heat-map.png, and the numbers as CSV, JSON and Parquet. The last column of the goals says
    whether the default method reached what it is meant to reach.
    """
    from ..pages import goal_rows
    from ..paper.figures import require_matplotlib
    from ..score import Settings
    from ..score import score as run
    from ..score.contenders import CONTENDERS, PARTS, STEP_COUNTS
    from ..score.evaluation import QUICK_TRIALS, TRIALS
    from ..score.page import mean_headings, mean_rows

    require_matplotlib()
    usual = Settings()
    contenders = (*CONTENDERS, *(STEP_COUNTS if steps else ()), *(PARTS if ablations else ()))
    settings = Settings(
        datasets=usual.datasets if datasets is None else given.split_list("--datasets", datasets),
        contenders=tuple(dict.fromkeys(contenders)),
        epsilons=usual.epsilons if epsilons is None else tuple(given.numbers("--epsilons", epsilons)),
        trials=trials if trials is not None else QUICK_TRIALS if quick else TRIALS,
        jobs=jobs,
    )
    check_folder(out)
    with progress_bar() as show:
        scores = run(settings, out, progress=show)
    if json:
        headings = mean_headings(scores.board)
        means = [dict(zip(headings, row, strict=True)) for row in mean_rows(scores.board)]
        found = {"goals": [asdict(goal) for goal in scores.goals], "means": means, "seconds": scores.seconds}
        typer.echo(json_format.dumps({**found, "not_available": scores.missing}, indent=2))
        return
    print_table("Goals of the default (float arithmetic)", ["goal", "limit", "measured", ""], goal_rows(scores.goals))
    keep = [0, *range(2, 3 + len(scores.board.epsilons)), 4 + len(scores.board.epsilons)]
    print_table(
        "Geometric means over the paper's IHM",
        [mean_headings(scores.board)[i] for i in keep],
        [[row[i] for i in keep] for row in mean_rows(scores.board)],
    )
    if scores.missing:
        typer.echo(f"Data sets not available: {', '.join(scores.missing)}.")
    typer.echo(f"{scores.seconds:.0f} s. Open {out / 'scores.html'}.")
