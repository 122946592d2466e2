"""``dpols fit``: a private regression on a table in a file."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..data.files import Dialect
from ..errors import ParameterError
from . import options as given
from .console import out as console
from .constraint_options import parsed_constraints
from .declared_table import declared_table
from .exposure_options import exposure_column
from .family import estimator_of, method_of, summary_of
from .fit_results import fit_into_files
from .found_bounds import BoundsWays, check_unit
from .output import check_output
from .report import check_report
from .show import show_report
from .weight_options import weight_column

if TYPE_CHECKING:
    from ..ledger import BudgetLedger

_bounds_option = partial(typer.Option, rich_help_panel="Bounds")


def fit(
    data: given.DataFile,
    epsilon: given.Epsilon,
    delta: given.Delta,
    *,
    bounds: Annotated[
        Path | None,
        _bounds_option(
            help='TOML file with the public range or categories of each column, see "dpols bounds-template"; or a CSV '
            "file with the columns column, low and high. With --paid-bounds, outer limits."
        ),
    ] = None,
    paid_bounds: Annotated[
        float | None,
        _bounds_option(
            metavar="SHARE",
            help="Find the bounds privately: private quantiles of every column, for this share of the budget, such as "
            "0.1.",
        ),
    ] = None,
    reference_bounds: Annotated[
        Path | None,
        _bounds_option(
            metavar="FILE",
            help="Take the bounds from a table that is public, with a margin; never from a part of the data.",
        ),
    ] = None,
    unsafe_bounds_from_data: Annotated[
        bool, _bounds_option("--unsafe-bounds-from-data", help="Read the bounds off the data: NOT private.")
    ] = False,
    count_clipped: Annotated[
        bool,
        _bounds_option(
            "--count-clipped",
            help="Spend a fiftieth of the budget to learn whether the bounds are too tight or too wide.",
        ),
    ] = False,
    features: Annotated[
        str | None,
        _bounds_option(help="Columns to use, with commas between them, if no bounds file lists them; by default all."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Column that says to whom a row belongs, such as a patient; all its rows are then protected."
        ),
    ] = None,
    max_rows_per_unit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Largest number of rows used of each unit; a hash of the row chooses. Used with --unit."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(help="Column of weights of rows, such as those of a survey; the bounds file may declare it."),
    ] = None,
    max_weight: Annotated[
        float | None,
        typer.Option(help="The largest weight, by public knowledge; larger ones are clipped. Used with --weight."),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(
            help="Column of exposures of counts, such as years at risk; the bounds file may declare it. For --family "
            "poisson."
        ),
    ] = None,
    exposure_range: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="Range of exposure, above 0, by public knowledge; others are clipped. Used with --exposure.",
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Name of the column to predict; a formula names it, too.")] = None,
    formula: Annotated[
        str | None, typer.Option(help='Target and features, such as "pay ~ age + I(age**2) + C(region) + age:hours".')
    ] = None,
    out: Annotated[Path, typer.Option(help="Model file to write (JSON). An existing one is replaced.")],
    family: Annotated[
        Literal["gaussian", "binomial", "poisson"],
        typer.Option(help="What the target is: a number (gaussian), yes or no (binomial), or a count (poisson)."),
    ] = "gaussian",
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="NO,YES", help='The two labels of a yes/no target, such as "no,yes"; without it they are 0 and 1.'
        ),
    ] = None,
    method: given.Method = "whitened",
    arithmetic: Annotated[
        Literal["auto", "exact", "float"],
        typer.Option(help="Arithmetic: exact, float (its rounding is not covered), or exact where possible."),
    ] = "auto",
    accounting: given.AccountingOption = "exact",
    neighbours: given.NeighboursOption = "zero-out",
    no_intercept: given.NoIntercept = False,
    option: given.MethodOptions = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="Public limit on slopes: nonnegative, norm=2.5, or NAME=LOW:HIGH, with an end left out for none, as "
            "in age=0: or dose=-1:1. Repeatable. Costs no budget; gives no intervals.",
        ),
    ] = None,
    bad_rows: Annotated[
        Literal["raise", "zero"],
        typer.Option(
            help="Rows with an empty or infinite cell: refuse the table (raise), or fit on complete rows only, leaving "
            "them out (zero)."
        ),
    ] = "raise",
    inference: Annotated[
        bool,
        typer.Option("--inference", help="Fit with standard errors and intervals: more noise, and no shrinkage."),
    ] = False,
    random_state: Annotated[
        int | None, typer.Option(help="Seed, for tests only: the result is NOT private.", rich_help_panel="Testing")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help='Ledger that the fit is charged to; see "dpols ledger create".')
    ] = None,
    ledger_note: Annotated[str | None, typer.Option(metavar="TEXT", help="Note that the ledger keeps.")] = None,
    same_data: Annotated[
        bool,
        typer.Option("--same-data", help="State that this is the ledger's data set, although its columns differ."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="File for the privacy report: .html, .md, .txt or .json, by its name.")
    ] = None,
    progress: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the present pass and its rows in this file (JSON).")
    ] = None,
    separator: given.Separator = None,
    decimal: given.Decimal = None,
    encoding: given.Encoding = None,
    json: given.Json = False,
) -> None:
    """Fit a private regression on a file or a folder of files.

    Prints the coefficients and the privacy report, and saves the model. The bounds of the columns come from a file of
    public knowledge, and only its columns are used; or --paid-bounds finds bounds privately. Files are read in
    parts, several times, so they may be far larger than memory. Everything is checked before anything is released, so
    an error costs no budget. Disk space for the results is reserved first, too.
    """
    rule = given.parsed_delta(delta, epsilon)
    dialect = Dialect(separator, decimal, encoding)
    check_unit(data, unit, max_rows_per_unit, dialect)
    ways = BoundsWays(bounds, paid_bounds, reference_bounds, unsafe_bounds_from_data)
    weights = weight_column(data, weight, max_weight, bounds, dialect)
    column = None if weights is None else weights.name
    exposures = exposure_column(data, exposure, exposure_range, bounds, dialect, family=family)
    table = declared_table(
        data,
        ways,
        target,
        formula,
        features,
        unit,
        column,
        None if exposures is None else exposures.name,
        dialect,
        fit_intercept=not no_intercept,
        family=family,
    )
    model = estimator_of(
        family,
        classes,
        method,
        inference,
        parsed_constraints(constraint),
        epsilon=epsilon,
        delta=rule,
        bounds=table.bounds,
        feature_map=table.feature_map,
        fit_intercept=table.fit_intercept,
        arithmetic=arithmetic,
        accounting=accounting,
        neighbours=neighbours,
        options=given.parsed_options(method_of(family, method, inference=inference), option),
        bad_rows=bad_rows,
        unit=unit,
        max_rows_per_unit=max_rows_per_unit,
        max_weight=None if weights is None else weights.largest,
        **({} if exposures is None else {"exposure_range": exposures.ends}),
        count_clipped=count_clipped,
        random_state=random_state,
        ledger=_noted(ledger, ledger_note, same_data),
    )
    inputs = tuple(path for path in (data, bounds, reference_bounds) if path is not None)
    _check_files(inputs, out, report, progress)
    problems = fit_into_files(model, table, out, report, progress)
    if json:
        typer.echo(model.privacy_report_.to_json())
    else:
        show_report(model.privacy_report_, summary_of(model))
    if problems:
        raise OSError(" ".join(problems))
    if not json:
        _show_places(out, report)


def _check_files(inputs: tuple[Path, ...], out: Path, report: Path | None, progress: Path | None) -> None:
    """Refuse files that cannot be written, or that would replace an input."""
    check_output(out, inputs=inputs)
    if report is not None:
        check_report(report, inputs=(*inputs, out))
    if progress is not None:
        check_output(progress, inputs=(*inputs, out), option="--progress")


def _show_places(out: Path, report: Path | None) -> None:
    console.print(f"Model saved to {out}", soft_wrap=True)
    if report is not None:
        console.print(f"Report saved to {report}", soft_wrap=True)


def _noted(ledger: Path | None, note: str | None, same_data: bool) -> "BudgetLedger | None":
    """Return the ledger, whose charge carries the note."""
    from ..ledger import BudgetLedger

    if ledger is None and (note is not None or same_data):
        raise ParameterError("--ledger-note and --same-data go with --ledger, which is missing.")
    return None if ledger is None else BudgetLedger(ledger).noted(note, same_data=same_data)
