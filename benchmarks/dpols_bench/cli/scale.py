"""``dpols-bench scale``: fits in memory, in files and on engines, each with a goal and a verdict."""

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from dpols.cli import options as given
from dpols.cli.output import check_output, write_text

from .runs import progress_bar


def scale(
    quick: Annotated[bool, typer.Option("--quick", help="Small tables; takes a minute or two.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where tables are made, 5 GB; kept for the next run. A temporary one if not given."
        ),
    ] = None,
    json: given.Json = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the numbers as JSON.")] = None,
) -> None:
    """Time fits on large data against scikit-learn, bare readers and MLlib, and measure their memory.

    In memory, on Parquet files, on Dask and on Spark, each as a ratio with a goal. What is not installed is left out.
    """
    from .. import scale as benchmark

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        check_output(out / "scale.json")
    with progress_bar() as show:
        rows = benchmark.run(quick=quick, folder=folder, progress=show, keep=lambda rows: _keep(rows, out))
    typer.echo(json_format.dumps(rows, indent=2) if json else benchmark.render(rows))


def _keep(rows: list[dict[str, Any]], out: Path | None) -> None:
    if out is not None:
        write_text(out / "scale.json", [json_format.dumps(rows, indent=2), "\n"])
