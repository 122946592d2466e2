"""``dpols fit``: a private regression on a table in a file."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import BadRowsError, BoundsError, ParameterError
from ..storage.placed_file import placed_file, room_for
from . import options as given
from .bounds_file import plain_bounds, read_declared, read_feature_map
from .console import out as console
from .found_bounds import (
    categories_of,
    check_reference,
    check_unit,
    feature_columns,
    from_table,
    one_way,
    paid,
    read_with_unit,
)
from .output import check_output
from .progress import pass_bar
from .report import check_report, report_text
from .show import show_report

if TYPE_CHECKING:
    from ..feature_map import FeatureMap


class Arithmetic(StrEnum):
    AUTO = "auto"
    EXACT = "exact"
    FLOAT = "float"


class BadRows(StrEnum):
    RAISE = "raise"
    ZERO = "zero"


def fit(
    data: given.DataFile,
    epsilon: given.Epsilon,
    delta: given.Delta,
    *,
    bounds: Annotated[
        Path | None,
        typer.Option(
            help='TOML file with the public range or categories of each column, see "dpols bounds-template"; or a CSV '
            "file with the columns column, low and high. With --paid-bounds, outer limits.",
            rich_help_panel="Bounds",
        ),
    ] = None,
    paid_bounds: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Find the bounds privately: private quantiles of every column, for this share of the budget, such as "
            "0.1.",
            rich_help_panel="Bounds",
        ),
    ] = None,
    reference_bounds: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the bounds from a table that is public, with a margin; never from a part of the data.",
            rich_help_panel="Bounds",
        ),
    ] = None,
    unsafe_bounds_from_data: Annotated[
        bool,
        typer.Option(
            "--unsafe-bounds-from-data", help="Read the bounds off the data: NOT private.", rich_help_panel="Bounds"
        ),
    ] = False,
    count_clipped: Annotated[
        bool,
        typer.Option(
            "--count-clipped",
            help="Spend a fiftieth of the budget to learn whether the bounds are too tight or too wide.",
            rich_help_panel="Bounds",
        ),
    ] = False,
    features: Annotated[
        str | None,
        typer.Option(
            help="Columns to use, with commas between them, where no bounds file lists them; by default all.",
            rich_help_panel="Bounds",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Column that says to whom a row belongs, such as a patient; all its rows are then protected."
        ),
    ] = None,
    max_rows_per_unit: Annotated[
        int | None, typer.Option(min=1, help="How many rows of each unit are used, the first ones; goes with --unit.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Name of the column to predict; a formula names it, too.")] = None,
    formula: Annotated[
        str | None,
        typer.Option(help='Target and features, such as "pay ~ age + I(age**2) + C(region) + age:hours".'),
    ] = None,
    out: Annotated[Path, typer.Option(help="Model file to write (JSON). An existing one is replaced.")],
    method: given.Method = "whitened",
    arithmetic: Annotated[
        Arithmetic,
        typer.Option(help="Arithmetic: exact, float (private in the real-number model only), or exact where possible."),
    ] = Arithmetic.AUTO,
    accounting: given.AccountingOption = given.Accounting.EXACT,
    neighbours: given.NeighboursOption = given.Neighbours.ZERO_OUT,
    no_intercept: given.NoIntercept = False,
    option: given.MethodOptions = None,
    bad_rows: Annotated[
        BadRows,
        typer.Option(help="Rows with missing or infinite values: refuse them, or count each as zeros without a word."),
    ] = BadRows.RAISE,
    inference: Annotated[
        bool,
        typer.Option("--inference", help="Spend half of the squared budget on standard errors and intervals."),
    ] = False,
    inference_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="The same with this share of the squared budget, such as 0.3; 0.5 is --inference."
        ),
    ] = None,
    random_state: Annotated[
        int | None, typer.Option(help="Seed, for tests only: the result is NOT private.", rich_help_panel="Testing")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help='Ledger that the fit is charged to; see "dpols ledger create".')
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="File for the privacy report: .html, .md, .txt or .json, by its name.")
    ] = None,
    json: given.Json = False,
) -> None:
    """Fit a private linear regression on a file or a folder of files.

    Prints the coefficients and the privacy report, and saves the model. The bounds of the columns come from a file of
    public knowledge, whose columns alone are used, or are bought by a share of the budget. Files are read in parts,
    several times, so they may be far larger than memory, but for --unit, which reads one file as a whole. Everything is
    checked before anything is released, so an error costs no budget, and the space for what is written is taken before,
    too.
    """
    from ..data import read
    from ..estimators import PrivateLinearRegression

    rule = given.parsed_delta(delta, epsilon)
    if inference_share is not None and not 0.0 < inference_share < 1.0:
        raise ParameterError(f"--inference-share {inference_share:g} must lie strictly between 0 and 1, such as 0.3.")
    with_intervals = inference or inference_share is not None
    one_way(bounds, paid_bounds, reference_bounds, unsafe_bounds_from_data)
    if reference_bounds is not None:
        check_reference(reference_bounds, data)
    check_unit(data, unit, max_rows_per_unit)
    if formula is None:
        declared = None if bounds is None else read_feature_map(bounds, target)
    else:
        if bounds is None or paid_bounds is not None:
            raise ParameterError("--formula needs a --bounds file, whose ranges and categories it refers to.")
        target, declared, no_intercept = by_formula(formula, bounds, target, no_intercept)
    if target is None:
        raise ParameterError("--target is missing: name the column to predict, or give a --formula.")
    plain = None if declared is None else plain_bounds(declared)
    columns = feature_columns(data, target, features, unit) if declared is None else list(declared.raw_columns)
    if declared is not None and features is not None:
        raise ParameterError(
            "--features and --bounds both list columns; delete the tables of others in the bounds file."
        )
    chosen: Any = plain
    if paid_bounds is not None:
        if declared is not None and plain is None:
            raise ParameterError("--paid-bounds takes outer limits only from --bounds, no categories and the like.")
        chosen = paid(paid_bounds, plain, columns)
    elif declared is None:
        chosen = from_table(reference_bounds or data, target, columns, unsafe=unsafe_bounds_from_data)
    model = PrivateLinearRegression(
        epsilon=epsilon,
        delta=rule,
        bounds=chosen,
        feature_map=declared if chosen is None else None,
        fit_intercept=not no_intercept,
        method=method,
        arithmetic=arithmetic.value,
        accounting=accounting.value,
        neighbours=neighbours.value,
        options=given.parsed_options(method, option),
        bad_rows=bad_rows.value,
        unit=unit,
        max_rows_per_unit=max_rows_per_unit,
        count_clipped=count_clipped,
        inference=inference if inference_share is None else inference_share,
        random_state=random_state,
        ledger=ledger,
    )
    if target in columns:
        raise BoundsError(
            f"--target {target!r} is also a feature in {str(bounds)!r}; delete its [features] table there."
        )
    inputs = tuple(path for path in (data, bounds, reference_bounds) if path is not None)
    check_output(out, inputs=inputs)
    if report is not None:
        check_report(report, inputs=(*inputs, out))
    room = room_for(columns if declared is None else declared.names, pairs=with_intervals)
    with ExitStack() as files:
        model_file = files.enter_context(placed_file(out, room))
        report_file = None if report is None else files.enter_context(placed_file(report, room))
        with interrupts_explained(), bad_rows_explained(data, declared), pass_bar(f"Fitting {data.name}") as progress:
            if unit is None:
                model.fit(read(data, target, columns, progress=progress))
            else:
                text = [unit, *categories_of(declared)]
                model.fit(read_with_unit(data, [*columns, target, unit], text=text), target)
        # The budget is spent by now: what came out is saved and shown, also where a file cannot be written.
        problems = [model_file.fill(model.to_json().encode())]
        if report_file is not None:
            problems.append(report_file.fill(report_text(report_file.path, model.privacy_report_).encode()))
    if json:
        typer.echo(model.privacy_report_.to_json())
    else:
        show_report(model.privacy_report_, model.summary() if with_intervals else None)
    if any(problems):
        raise OSError(" ".join(problem for problem in problems if problem is not None))
    if not json:
        console.print(f"Model saved to {out}", soft_wrap=True)
        if report is not None:
            console.print(f"Report saved to {report}", soft_wrap=True)


@contextmanager
def interrupts_explained() -> Iterator[None]:
    """Say on standard error what became of a charge when an interrupt came, of which else only the exit code tells."""
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo(" ".join(("interrupted.", *getattr(error, "__notes__", ()))), err=True)
        raise


@contextmanager
def bad_rows_explained(data: Path, declared: "FeatureMap | None") -> Iterator[None]:
    """Say of rows that are not finite what a command can do about them."""
    try:
        yield
    except BadRowsError as error:
        columns = {} if declared is None else declared.columns
        without = [repr(name) for name, column in columns.items() if column.missing is None]
        which = f" (nothing yet of {', '.join(without)})" if without else ""
        error.args = (
            f"{str(data)!r} has an empty or infinite cell in a feature or the target, and such rows are refused. "
            f"Correct them, or declare in the bounds file by missing = ... what an empty cell counts as{which}, or "
            "pass --bad-rows zero, by which each such row counts as zeros.",
        )
        raise


def by_formula(formula: str, bounds: Path, target: str | None, no_intercept: bool) -> "tuple[str, FeatureMap, bool]":
    """Return target, features and whether to leave out the intercept, as a formula says; what clashes is refused."""
    from ..formula import target_of, translated

    named = target_of(formula)
    if target not in (None, named):
        raise ParameterError(f"--target {target!r} is not that of the formula, {named!r}; leave out --target.")
    made = translated(formula, read_declared(bounds, named))
    if no_intercept and made.fit_intercept:
        raise ParameterError("--no-intercept contradicts the formula; write 0 + ... on the right of ~ instead.")
    return made.target, made.feature_map, not made.fit_intercept
