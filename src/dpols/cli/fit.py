"""``dpols fit``: a private regression on a table in a file."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BoundsError, ParameterError
from . import options as given
from .bounds_file import plain_bounds, read_feature_map
from .console import out as console
from .output import check_output
from .progress import pass_bar
from .report import check_report, write_report
from .show import show_report

if TYPE_CHECKING:
    from ..feature_map import FeatureMap


class Numeric(StrEnum):
    AUTO = "auto"
    EXACT = "exact"
    FLOAT = "float"


class BadRows(StrEnum):
    RAISE = "raise"
    ZERO = "zero"


def fit(
    data: given.DataFile,
    bounds: Annotated[
        Path,
        typer.Option(help='TOML file with the public range or categories of each column; see "dpols bounds-template".'),
    ],
    epsilon: given.Epsilon,
    delta: given.Delta,
    *,
    target: Annotated[str | None, typer.Option(help="Name of the column to predict; a formula names it, too.")] = None,
    formula: Annotated[
        str | None,
        typer.Option(help='Target and features, such as "pay ~ age + I(age**2) + C(region) + age:hours".'),
    ] = None,
    out: Annotated[Path, typer.Option(help="Model file to write (JSON). An existing one is replaced.")],
    method: given.Method = "ihm",
    numeric: Annotated[
        Numeric,
        typer.Option(help="Arithmetic: exact, float (private in the real-number model only), or exact where possible."),
    ] = Numeric.AUTO,
    accounting: given.AccountingOption = given.Accounting.EXACT,
    neighbours: given.NeighboursOption = given.Neighbours.ZERO_OUT,
    no_intercept: given.NoIntercept = False,
    option: given.MethodOptions = None,
    bad_rows: Annotated[
        BadRows,
        typer.Option(help="Rows with missing or infinite values: refuse them, or count each as zeros without a word."),
    ] = BadRows.RAISE,
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

    Prints the coefficients and the privacy report, and saves the model. Only the columns that the bounds file names are
    used. Files are read in parts, several times, so they may be far larger than memory. Everything is checked before
    anything is released, so an error costs no budget.
    """
    from ..data import read
    from ..estimators import PrivateLinearRegression

    rule = given.parsed_delta(delta, epsilon)
    declared = read_feature_map(bounds)
    if formula is not None:
        target, declared, no_intercept = by_formula(formula, declared, target, no_intercept)
    if target is None:
        raise ParameterError("--target is missing: name the column to predict, or give a --formula.")
    plain = plain_bounds(declared)
    model = PrivateLinearRegression(
        epsilon=epsilon,
        delta=rule,
        bounds=plain,
        feature_map=declared if plain is None else None,
        fit_intercept=not no_intercept,
        method=method,
        numeric=numeric.value,
        accounting=accounting.value,
        neighbours=neighbours.value,
        options=given.parsed_options(method, option),
        bad_rows=bad_rows.value,
        random_state=random_state,
        ledger=ledger,
    )
    if target in declared.raw_columns:
        raise BoundsError(
            f"--target {target!r} is also a feature in {str(bounds)!r}; delete its [features] table there."
        )
    check_output(out, inputs=(data, bounds))
    if report is not None:
        check_report(report, inputs=(data, bounds, out))
    with pass_bar(f"Fitting {data.name}") as progress:
        model.fit(read(data, target, declared.raw_columns, progress=progress))
    try:
        model.save(out)
        if report is not None:
            write_report(report, model.privacy_report_)
    finally:
        # The budget is spent by now: what was released is shown even where the file cannot be written.
        if json:
            typer.echo(model.privacy_report_.to_json())
        else:
            show_report(model.privacy_report_)
    if not json:
        console.print(f"Model saved to {out}", soft_wrap=True)
        if report is not None:
            console.print(f"Report saved to {report}", soft_wrap=True)


def by_formula(
    formula: str, declared: "FeatureMap", target: str | None, no_intercept: bool
) -> "tuple[str, FeatureMap, bool]":
    """Return target, features and whether to leave out the intercept, as a formula says; what clashes is refused."""
    from ..formula import translated

    made = translated(formula, declared)
    if target not in (None, made.target):
        raise ParameterError(f"--target {target!r} is not that of the formula, {made.target!r}; leave out --target.")
    if no_intercept and made.fit_intercept:
        raise ParameterError("--no-intercept contradicts the formula; write 0 + ... on the right of ~ instead.")
    return made.target, made.feature_map, not made.fit_intercept
