"""``dpols-bench paper``: the paper's evaluation, resumable, with tables, figures, claims and a report."""

import json as json_format
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpols.cli import options as given
from dpols.cli.console import print_table

from .runs import Folder, Jobs, SixEpsilons, check_folder, progress_bar

if TYPE_CHECKING:
    from ..paper import Evaluation


class Accounting(StrEnum):
    PAPER = "paper"
    EXACT = "exact"
    BOTH = "both"


class Arithmetic(StrEnum):
    FLOAT = "float"
    EXACT = "exact"


def paper(
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B", help="Data sets by name, or 'real' or 'synthetic'; all of the paper's.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Methods by name; all that the paper shows.")
    ] = None,
    epsilons: SixEpsilons = None,
    trials: Annotated[int | None, typer.Option(help="Trials for each mean: 500, or 20 with --quick.")] = None,
    accounting: Annotated[Accounting, typer.Option(help="How noise is calibrated: as published, exactly, or both.")] = (
        Accounting.BOTH
    ),
    arithmetic: Annotated[
        Arithmetic, typer.Option(help="Arithmetic of the fits; exact is many times slower.")
    ] = Arithmetic.FLOAT,
    jobs: Jobs = 0,
    out: Folder = Path("paper-results"),
    quick: Annotated[bool, typer.Option("--quick", help="20 trials; takes minutes.")] = False,
    studies: Annotated[
        bool,
        typer.Option(
            "--studies",
            help="Run the paper's own searches and what it leaves open instead, with --quick in a short form; the next "
            "evaluation in the folder shows their verdicts.",
        ),
    ] = False,
    json: given.Json = False,
) -> None:
    """Reproduce the paper's evaluation: run again to go on after an interruption.

    Writes report.html, figures, and the numbers as CSV, JSON and Parquet.
    """
    from ..paper import DATASETS, EPSILONS, METHODS, QUICK_TRIALS, TRIALS, Settings, claim_rows, evaluate
    from ..paper.figures import require_matplotlib

    if studies:
        return _studies(out, quick=quick, jobs=jobs, json=json)
    require_matplotlib()
    chosen: dict[Accounting, tuple[str, ...]] = {Accounting.BOTH: ("paper", "exact")}
    settings = Settings(
        datasets=DATASETS if datasets is None else _data_sets(datasets),
        methods=tuple(row.name for row in METHODS) if methods is None else given.split_list("--methods", methods),
        epsilons=EPSILONS if epsilons is None else tuple(given.numbers("--epsilons", epsilons)),
        trials=trials if trials is not None else QUICK_TRIALS if quick else TRIALS,
        accountings=chosen.get(accounting, (accounting.value,)),  # type: ignore[arg-type]
        arithmetic=arithmetic.value,
        jobs=jobs,
    )
    check_folder(out)
    with progress_bar() as show:
        evaluation = evaluate(settings, out, progress=show)
    if json:
        typer.echo(json_format.dumps({"about": evaluation.about, "claims": claim_rows(evaluation)}, indent=2))
    else:
        _print(evaluation, out)


def _studies(out: Path, *, quick: bool, jobs: int, json: bool) -> None:
    from ..paper.studies import LONG, SHORT, run_studies

    check_folder(out)
    with progress_bar() as show:
        verdicts = run_studies(SHORT if quick else LONG, out, jobs=jobs, progress=show)
    if json:
        rows = [{"study": study.name, **{name: vars(f) for name, f in found.items()}} for study, found in verdicts]
        typer.echo(json_format.dumps(rows, indent=2))
        return
    for study, found in verdicts:
        typer.echo(f"{study.name}: {study.text}")
        for accounting, finding in found.items():
            typer.echo(f"  {accounting} accounting: {finding.verdict}; {finding.numbers}")
    typer.echo(f"Verdicts are in {out / 'study_claims.json'}.")


def _print(evaluation: "Evaluation", out: Path) -> None:
    arithmetic = evaluation.settings.arithmetic
    accountings = evaluation.results.accountings
    rows = [
        [claim.text, *(findings[accounting].verdict for accounting in accountings)]
        for claim, findings in evaluation.claims
    ]
    print_table(f"Claims of the paper ({arithmetic} arithmetic)", ["claim", *accountings], rows)
    missing = evaluation.about["not_available"]
    if missing:
        typer.echo(f"Data sets not available: {', '.join(missing)}.")
    typer.echo(f"{evaluation.about['seconds_of_this_call']:.0f} s. Open {out / 'report.html'}.")


def _data_sets(text: str) -> tuple[str, ...]:
    from ..datasets import REAL, SYNTHETIC

    groups = {"real": REAL, "synthetic": SYNTHETIC}
    names = [name for part in given.split_list("--datasets", text) for name in groups.get(part, (part,))]
    return tuple(dict.fromkeys(names))
