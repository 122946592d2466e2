"""``dpols-bench``: benchmarks of the library."""

import json as json_format
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dpols.cli import options as given
from dpols.cli.console import working
from dpols.cli.output import check_output, write_text

from .bounds import bounds
from .coverage import coverage
from .glm import glm
from .paper import paper
from .peers import peers
from .planning import planning
from .scale import scale
from .score import score
from .tables import tables

bench = typer.Typer(
    name="dpols-bench", help="Benchmarks of dpols.", invoke_without_command=True, pretty_exceptions_enable=False
)


@bench.callback()
def choose(context: typer.Context) -> None:
    """Benchmarks of dpols."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


Quick = Annotated[bool, typer.Option("--quick", help="Small tables only; takes seconds.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the numbers as JSON.")]


@bench.command()
def speed(quick: Quick = False, json: given.Json = False, out: Out = None) -> None:
    """Time a private fit against scikit-learn's non-private ones and an explicit sketch, and measure its memory."""
    from .. import speed as benchmark

    _measure("speed", benchmark.run, benchmark.render, quick=quick, json=json, out=out)


@bench.command()
def exact(quick: Quick = False, json: given.Json = False, out: Out = None) -> None:
    """Time fits in exact arithmetic against floating point."""
    from .. import exact as benchmark

    _measure("exact", benchmark.run, benchmark.render, quick=quick, json=json, out=out)


bench.command()(bounds)
bench.command()(paper)
bench.command()(peers)
bench.command()(planning)
bench.command()(coverage)
bench.command()(glm)
bench.command()(scale)
bench.command()(score)
bench.command()(tables)


def _measure(
    name: str,
    run: Callable[..., list[dict[str, Any]]],
    render: Callable[[list[dict[str, Any]]], str],
    *,
    quick: bool,
    json: bool,
    out: Path | None,
) -> None:
    """Run one benchmark, keep its numbers where asked, and print them."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        check_output(out / f"{name}.json")
    with working("Measuring") as say:
        rows = run(quick=quick, progress=lambda shape: say(f"Measuring {shape}"))
    text = json_format.dumps(rows, indent=2)
    if out is not None:
        write_text(out / f"{name}.json", [text, "\n"])
    typer.echo(text if json else render(rows))
