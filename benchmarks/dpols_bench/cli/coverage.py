"""``dpols-bench coverage``: how often intervals cover what they are for."""

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from dpols.cli import options as given
from dpols.cli.audit import counting
from dpols.cli.console import out as console
from dpols.cli.console import print_table
from dpols.cli.output import check_output, write_text

_RUNS, _FAMILY_RUNS, _QUICK_RUNS = 4000, 1000, 300


def coverage(
    quick: Annotated[bool, typer.Option("--quick", help="A few cells with few runs; takes seconds.")] = False,
    families: Annotated[
        bool, typer.Option("--families", help="Logistic and Poisson regression in place of least squares.")
    ] = False,
    json: given.Json = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for results; a run that stopped goes on there.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=2, help="Runs in each cell: 4000, 1000 with --families, or 300 with --quick.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0 for all cores.")] = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the simulation.")] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Begin nothing after so many minutes, and show what there is.")
    ] = None,
) -> None:
    """Simulate fits on fresh data and count how often 95% intervals cover the truth. Exits with 1 where they do not.

    Population: of coefficients, for the truth. Data: of coefficients, for the non-private fit to the rows. R^2 and
    variance are, with --families, the explained share of the deviance and the deviance by degrees of freedom.
    """
    from dpols.data.threads import worker_count

    from ..coverage import SEED, evaluate, family_groups, markdown, quick_groups, standard_groups, to_dict

    journal = None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        check_output(out / "coverage.json")
        journal = out / "journal.jsonl"
    if quick:
        groups = quick_groups(runs or _QUICK_RUNS)
    else:
        groups = family_groups(runs or _FAMILY_RUNS) if families else standard_groups(runs or _RUNS)
    total = sum(group.cost * group.runs for group in groups)
    with counting(round(total)) as (name, advance):

        def show(what: str, seconds: float) -> None:
            name(what)
            advance(seconds)  # type: ignore[arg-type]

        cells = evaluate(
            groups,
            journal,
            jobs=jobs or (1 if quick else worker_count()),
            progress=show,
            seed=SEED if seed is None else seed,
            minutes=minutes,
        )
    found = to_dict(cells)
    text = json_format.dumps(found, indent=2)
    if out is not None:
        write_text(out / "coverage.json", [text, "\n"])
        write_text(out / "coverage.md", [markdown(found)])
    if json:
        typer.echo(text)
    else:
        _show(found)
    if not found["holds"]:
        raise typer.Exit(1)


def _show(found: dict[str, Any]) -> None:
    columns = ("design", ">n", ">d", ">eps", ">printed", ">population", ">data", ">width", "")
    rows = [
        (
            row["design"].replace(" conditioned", ""),
            f"{row['n_rows']:,}",
            str(row["n_features"]),
            f"{row['epsilon']:g}",
            f"{row['printed_slopes']:.0%}, {row['printed_intercepts']:.0%}",
            *("" if row[name] is None else f"{row[name]:.1%}" for name in ("population", "data")),
            "" if row["width_over_nonprivate"] is None else f"{row['width_over_nonprivate']:.2f}",
            "" if row["holds"] and row["judged"] else "not judged" if row["holds"] else "FAILS",
        )
        for row in found["cells"]
    ]
    print_table("How often 95% intervals cover", columns, rows)
    console.print(
        "printed: share of slopes and of intercepts with an interval; width: over that of a non-private interval"
    )
    console.print(
        f"No intervals in {found['share_without_intervals']:.0%} of all fits, and in all fits of "
        f"{found['cells_without_intervals']} of {len(rows)} cells."
    )
