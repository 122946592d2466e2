"""``dpols audit``: how much a test can really tell from what is released."""

import json as json_format
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import required
from . import options as given
from .console import out, print_table, progress
from .output import check_output, write_text

if TYPE_CHECKING:
    from ..audit import Audit


Arithmetic = Literal["float", "exact"]
# Runs on each of two data sets; a run in exact arithmetic takes several times as long.
RUNS = {"float": 100_000, "exact": 40_000}
QUICK_RUNS = {"float": 30_000, "exact": 5_000}


def audit(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs; takes about a minute or less.")] = False,
    json: given.Json = False,
    out_folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for audit.json and audit.png.")
    ] = None,
    method: given.Method = "ihm",
    arithmetic: Annotated[
        Arithmetic, typer.Option(help="Arithmetic of the runs; exact arithmetic is slower.")
    ] = "float",
    runs: Annotated[int | None, typer.Option(min=100, help="Runs on each of the two data sets.")] = None,
    neighbours: Annotated[
        Literal["zero-out", "add-remove"],
        typer.Option(help="How the two data sets of whole fits differ: a row becomes zeros, or is added or removed."),
    ] = "zero-out",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the runs, so that they can be repeated.")] = 0,
) -> None:
    """Attack the library: bound from below what its mechanisms and a method cost.

    Runs each mechanism, and whole fits, very often on two data sets that differ in one row, and scores all releases by
    the exact log-likelihood ratio. No bound may exceed the claimed epsilon; it should come near the exact epsilon of
    the two data sets. Exits with 1 if a claim is refuted.
    """
    from ..audit.plot import save_plot
    from ..audit.subjects import end_to_end, primitives

    if out_folder is not None:
        required("matplotlib", "plots")
        out_folder.mkdir(parents=True, exist_ok=True)
        check_output(out_folder / "audit.json")
    subjects = [*end_to_end(method, rows_are_public=neighbours == "zero-out"), *primitives()]
    subjects = [subject for subject in subjects if arithmetic == "exact" or not subject.exact_only]
    count = runs or (QUICK_RUNS if quick else RUNS)[arithmetic]
    audits = run_audits(subjects, count, arithmetic, seed)
    text = json_format.dumps(to_dict(audits, method, arithmetic, seed), indent=2)
    if out_folder is not None:
        write_text(out_folder / "audit.json", [text, "\n"])
        save_plot(out_folder / "audit.png", audits)
    if json:
        typer.echo(text)
    else:
        show(audits, arithmetic)
    if not all(found.holds for found in audits):
        raise typer.Exit(1)


def run_audits(subjects: list[Any], runs: int, arithmetic: Arithmetic, seed: int) -> "list[Audit]":
    """Audit each subject, with a progress bar where someone is watching."""
    from ..audit.lower_bound import audit

    counts = [max(100, round(runs * subject.share)) for subject in subjects]
    audits = []
    with counting(2 * sum(counts)) as (name, advance):
        for place, (subject, count) in enumerate(zip(subjects, counts, strict=True)):
            name(subject.name)
            found = audit(
                subject,
                runs=count,
                arithmetic=arithmetic,
                seed=seed + place,
                processes=os.cpu_count() or 1,
                progress=advance,
            )
            audits.append(found)
    return audits


def to_dict(audits: "list[Audit]", method: str, arithmetic: Arithmetic, seed: int) -> dict[str, Any]:
    """Return plain data: the method's first audit on top, and all of them."""
    return {
        **{key: value for key, value in audits[0].to_dict().items() if key != "name"},
        "method": method,
        "arithmetic": arithmetic,
        "seed": seed,
        "holds": all(found.holds for found in audits),
        "audits": [found.to_dict() for found in audits],
    }


def show(audits: "list[Audit]", arithmetic: Arithmetic) -> None:
    """Print a table, and what it says."""
    columns = ("", ">claimed", ">exact", ">found", ">removed", ">added", ">runs")
    rows = [
        (
            found.name,
            f"{found.claimed_epsilon:.4g}",
            f"{found.exact_epsilon:.3f}",
            f"{found.lower_bound:.3f}",
            f"{found.remove.lower_bound:.3f}",
            f"{found.add.lower_bound:.3f}",
            f"2 x {found.runs:,}",
        )
        for found in audits
    ]
    print_table(f"Epsilon at delta = {audits[0].delta:g}, {arithmetic} arithmetic", columns, rows)
    out.print("exact: of the two data sets, from how far they move each release")
    out.print("found: a lower bound at 95% confidence, for a row removed or added\n")
    refuted = [found.name for found in audits if not found.holds]
    if audits[0].exact_epsilon > 0.0:
        share = audits[0].lower_bound / audits[0].exact_epsilon
        out.print(f"{audits[0].name}: {share:.0%} of the exact epsilon is found.")
    out.print(f"REFUTED: {', '.join(refuted)}." if refuted else "No claim is refuted.")


@contextmanager
def counting(total: int) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """Show a progress bar, on a terminal only; yields how to name the step and how to advance."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=progress, disable=not progress.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield (lambda text: bar.update(task, description=text)), (lambda count: bar.advance(task, count))
