"""``dpols bench``: benchmarks of the library."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from . import options as given
from .bench_paper import paper
from .console import working
from .output import check_output, write_text

bench = typer.Typer(help="Benchmarks of dpols itself.", invoke_without_command=True)


@bench.callback()
def choose(context: typer.Context) -> None:
    """Benchmarks of dpols itself."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@bench.command()
def speed(
    quick: Annotated[bool, typer.Option("--quick", help="Small tables only; takes seconds.")] = False,
    json: given.Json = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for speed.json.")] = None,
) -> None:
    """Time a private fit against scikit-learn's non-private ones and an explicit sketch, and measure its memory."""
    from ..bench import speed as benchmark

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        check_output(out / "speed.json")
    with working("Measuring") as say:
        rows = benchmark.run(quick=quick, progress=lambda shape: say(f"Measuring {shape}"))
    text = json_format.dumps(rows, indent=2)
    if out is not None:
        write_text(out / "speed.json", [text, "\n"])
    typer.echo(text if json else benchmark.render(rows))


bench.command()(paper)
