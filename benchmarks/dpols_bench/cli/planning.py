"""``dpols-bench planning``: how well planned errors foretell those observed on the data sets of the paper."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from dpols.cli import options as given
from dpols.cli.console import out as console
from dpols.cli.console import print_table, working
from dpols.cli.output import check_output, write_text


def planning(
    datasets: Annotated[
        str | None, typer.Option(metavar="A,B", help="Data sets by name; all real ones that are there.")
    ] = None,
    trials: Annotated[int, typer.Option(min=2, help="Fits for each mean at first; more where it is uncertain.")] = 100,
    quick: Annotated[bool, typer.Option("--quick", help="Three small data sets; takes seconds.")] = False,
    halves: Annotated[
        bool, typer.Option("--halves", help="Plan from one half of each data set's rows, observe on the other.")
    ] = False,
    json: given.Json = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for results as JSON and Markdown.")] = None,
) -> None:
    """Plan errors from data sets' shape statistics, observe them on the data sets, and compare.

    A ratio is planned over observed excess risk; ! marks those that are more than 20% off.
    """
    from .. import planning as benchmark

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        check_output(out / "planning.json")
    names = None if datasets is None else given.split_list("--datasets", datasets)
    with working("Planning") as say:
        rows = benchmark.run(
            datasets=names,
            trials=trials,
            quick=quick,
            halves=halves,
            progress=lambda name: say(f"Planning and observing {name}"),
        )
    text = json_format.dumps(rows, indent=2)
    if out is not None:
        write_text(out / "planning.json", [text, "\n"])
        write_text(out / "planning.md", [benchmark.render(rows), "\n"])
    if json:
        typer.echo(text)
        return
    lines = [
        (
            row["dataset"],
            row["method"],
            f"{row['epsilon']:g}",
            f"{row['planned']:.3g}",
            f"{row['observed']:.3g}",
            f"{row['ratio']:.2f}" + (" " if row["close"] else "!"),
        )
        for row in rows
    ]
    columns = ("data set", "method", ">epsilon", ">planned", ">observed", ">ratio ")
    print_table(f"Excess risk, planned and observed, means of {trials} fits or more", columns, lines)
    for line in benchmark.summary(rows):
        console.print(line, soft_wrap=True)
