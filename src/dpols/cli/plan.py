"""``dpols plan``: what accuracy to expect, and what it needs, before anything is spent."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data import read
from ..data.files import column_types
from ..errors import ParameterError, required
from ..feature_map import FeatureMap
from . import options as given
from .bounds_file import plain_bounds, read_feature_map
from .console import out, print_json, print_table
from .console import progress as watched
from .declared_table import by_formula
from .output import check_output, write_text
from .tables import read_columns

if TYPE_CHECKING:
    from ..planning import AccuracyPlan, Answer, Assumptions


def plan(
    rows: Annotated[
        int | None, typer.Option(min=1, help="Number of rows of the data. Without it: how many are needed.")
    ] = None,
    features: Annotated[
        int | None, typer.Option(min=1, help="Number of features, without the intercept; or give --bounds.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E,F", help="Epsilons to plan for; 0.1, 0.3, 1, 3 and 10 unless given.")
    ] = None,
    delta: given.Delta = "1/n^2",
    r_squared: Annotated[
        float | None,
        typer.Option(help="Share of the target's variance that you expect the features to explain; 0.5 unless given."),
    ] = None,
    condition: Annotated[
        float, typer.Option(help="Largest over smallest eigenvalue of the features' correlation matrix.")
    ] = 10.0,
    bounds_slack: Annotated[
        float, typer.Option(help="Width of the bounds, divided by 3 standard deviations to either side.")
    ] = 1.0,
    mean_weight: Annotated[
        float, typer.Option(help="Mean weight of rows, divided by the largest; 1 where rows have no weights.")
    ] = 1.0,
    bounds: Annotated[Path | None, typer.Option(metavar="FILE", help="Bounds file, as dpols fit takes it.")] = None,
    public_table: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="PUBLIC table to resample in place of made-up rows: never the private data."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Name of the public table's target.")] = None,
    formula: Annotated[
        str | None, typer.Option(help="Formula of the fit, as dpols fit takes it; goes with --bounds.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Column that says to whom a row belongs; goes with --max-rows-per-unit.")
    ] = None,
    max_rows_per_unit: Annotated[
        int | None, typer.Option(min=1, help="Rows of each unit that the fit uses at most.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="A,B", help="Methods to compare; whitened,ihm,adassp,dp-gd unless given.")
    ] = None,
    want_r_squared: Annotated[
        float | None, typer.Option(help="Say which epsilon, or how many rows, reaches this R^2.")
    ] = None,
    want_width: Annotated[
        float | None, typer.Option(help="The same for the median width of the slopes' 95% intervals.")
    ] = None,
    want_share: Annotated[
        float | None, typer.Option(help="Share of slopes that must have such an interval; 0.9 unless given.")
    ] = None,
    neighbours: given.NeighboursOption = "zero-out",
    no_intercept: given.NoIntercept = False,
    no_intervals: Annotated[bool, typer.Option("--no-intervals", help="Do not simulate intervals; faster.")] = False,
    trials: Annotated[int, typer.Option(min=2, help="Simulated fits for each number.")] = 40,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Picture to write: .png, .svg or .pdf.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="HTML", help="Page to write, to hand on.")] = None,
    json: given.Json = False,
) -> None:
    """Say what accuracy to expect of private linear regressions, by simulation, before anything is spent.

    Reads no private data. With --want-r-squared or --want-width: which epsilon reaches it at --rows, or how many rows
    at one --epsilon.
    """
    from ..planning import EPSILONS, plan_accuracy

    common: Assumptions = {
        "d": features,
        "delta": given.parsed_delta(delta, 1.0),
        "r_squared": r_squared,
        "condition": condition,
        "bounds_slack": bounds_slack,
        "mean_weight": mean_weight,
        "fit_intercept": not no_intercept,
        "neighbours": neighbours,
        "max_rows_per_unit": _rows_per_unit(unit, max_rows_per_unit),
        "trials": trials,
        "seed": seed,
        **_table_and_bounds(public_table, target, bounds, formula, fit_intercept=not no_intercept),
    }
    epsilons = None if epsilon is None else tuple(given.numbers("--epsilon", epsilon))
    names = None if methods is None else given.split_list("--methods", methods)
    if features is None and bounds is None and public_table is None:
        raise ParameterError("--features is required: how many there are; or give --bounds or --public-table.")
    if want_share is not None and want_width is None:
        raise ParameterError("--want-share goes with --want-width: which share of slopes is to have such an interval.")
    if want_r_squared is not None or want_width is not None:
        _check_search(want_r_squared, want_width, plot or report, no_intervals=no_intervals)
        share = {} if want_share is None else {"interval_share": want_share}
        wanted = {"wanted_r_squared": want_r_squared, "interval_width": want_width, **share}
        answer = _answer(rows, epsilons, names, {**common, **wanted})
        return print_json(answer.to_dict()) if json else show_answer(answer)
    if rows is None:
        raise ParameterError("--rows is required, unless --want-r-squared or --want-width ask how many are needed.")
    _check_files(plot, report)
    tried = EPSILONS if epsilons is None else epsilons
    with _by_options(), _bar() as show:
        found = plan_accuracy(n=rows, epsilon=tried, methods=names, intervals=not no_intervals, progress=show, **common)
    if plot is not None:
        found.save_plot(plot)
    if report is not None:
        write_text(report, [found.to_html()])
    if json:
        return print_json(found.to_dict())
    show_plan(found)
    for what, path in (("Picture", plot), ("Page", report)):
        if path is not None:
            out.print(f"{what}: {path}", soft_wrap=True)


def _check_search(
    want_r_squared: float | None, want_width: float | None, file: Path | None, *, no_intervals: bool
) -> None:
    """Refuse what contradicts a search for the epsilon, or the number of rows, that reaches an accuracy."""
    if want_r_squared is not None and want_width is not None:
        raise ParameterError("give one of --want-r-squared and --want-width, not both.")
    if file is not None:
        raise ParameterError(
            "--plot and --report show a plan over epsilons; leave out --want-r-squared and --want-width."
        )
    if no_intervals and want_width is not None:
        raise ParameterError("--no-intervals and --want-width contradict each other; leave out one of them.")


def _check_files(plot: Path | None, report: Path | None) -> None:
    """Make sure before the work that a picture can be drawn, and a page be written."""
    if plot is not None:
        check_output(plot, option="--plot")
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ParameterError(f"--plot {str(plot)!r} must end in .png, .svg or .pdf.")
        required("matplotlib", "plots")
    if report is not None:
        if report.suffix.lower() != ".html":
            raise ParameterError(f"--report {str(report)!r} must end in .html: it is a page.")
        check_output(report, option="--report")


def show_plan(found: "AccuracyPlan") -> None:
    """Print a plan in 80 columns."""
    from ..planning.page import COLUMNS, MEANINGS, details

    out.print(f"{found.n_rows:,} rows with {found.n_features} features, delta = {found.rows[0].delta:.3g}")
    out.print(f"assumed: {found.assumed}\n", soft_wrap=True)
    lines, notes = details(found)
    aligned = (COLUMNS[0], *(f">{name}" for name in COLUMNS[1:]))
    print_table(f"What to expect of {found.trials} fits each", aligned, lines)
    out.print(MEANINGS)
    for note in notes:
        out.print(note)
    out.print(f"\nR^2 without privacy: {found.nonprivate_r_squared:.3f}")
    out.print(f"Recommendation: {found.recommendation.reason}")
    out.print(found.note)


def show_answer(answer: "Answer") -> None:
    """Print what reaches an accuracy."""
    from ..planning.page import share_in_words

    out.print(f"wanted: {answer.wanted}")
    out.print(f"assumed: {answer.assumed}", soft_wrap=True)
    out.print(f"answer: {answer.reason}", soft_wrap=True)
    row = answer.row
    if row is not None:
        shown = f"R^2 {row.r_squared:.3f}, slope error {row.coefficient_error:.2g}"
        if row.interval_width is not None:
            shown += f", interval width {row.interval_width:.2g} for {share_in_words(row.interval_share)} of slopes"
        out.print(f"expected at epsilon = {row.epsilon:g} on {row.n_rows:,} rows: {shown}", soft_wrap=True)
    out.print(answer.note)


def _answer(
    rows: int | None,
    epsilons: tuple[float, ...] | None,
    names: tuple[str, ...] | None,
    asked: dict[str, Any],
) -> "Answer":
    from ..planning import required_epsilon, required_rows

    if names is not None and len(names) > 1:
        raise ParameterError(f"--methods {','.join(names)}: the search takes one method at a time.")
    asked["method"] = "whitened" if names is None else names[0]
    if (rows is None) == (epsilons is None):
        raise ParameterError("give --rows to learn which epsilon is enough, or one --epsilon to learn how many rows.")
    if epsilons is not None and len(epsilons) != 1:
        raise ParameterError("--epsilon must be one number where the number of rows is asked for.")
    with _by_options(), _bar() as show:
        if epsilons is None:
            return required_epsilon(n=rows, progress=show, **asked)  # type: ignore[arg-type]
        return required_rows(epsilon=epsilons[0], progress=show, **asked)


def _rows_per_unit(unit: str | None, max_rows_per_unit: int | None) -> int:
    if unit is not None and max_rows_per_unit is None:
        raise ParameterError("--unit needs --max-rows-per-unit: how many rows of each unit the fit uses at most.")
    return 1 if max_rows_per_unit is None else max_rows_per_unit


def _table_and_bounds(
    public_table: Path | None, target: str | None, bounds: Path | None, formula: str | None, *, fit_intercept: bool
) -> "Assumptions":
    """Read the files that are given; columns of the table that bounds leave out are left out."""
    found: Assumptions = {}
    names, declared = None, None
    if formula is not None:
        if bounds is None:
            raise ParameterError("--formula needs a --bounds file, whose ranges and categories it refers to.")
        target, declared, intercept = by_formula(formula, bounds, target, fit_intercept)
        found["fit_intercept"], found["bounds"], names = intercept, declared, list(declared.raw_columns)
    elif bounds is not None:
        declared = read_feature_map(bounds, target)
        found["bounds"], names = plain_bounds(declared) or declared, list(declared.raw_columns)
    if public_table is None:
        if target is not None and bounds is None:
            raise ParameterError("--target names a column of --public-table, or of --bounds in CSV; give one of them.")
        return found
    if target is None:
        raise ParameterError("--target is required with --public-table: the name of the column to predict.")
    types = column_types(public_table)
    wanted = names if names is not None else [name for name, why in types.items() if why is None and name != target]
    for name in (*wanted, target):
        if name not in types:
            raise ParameterError(f"--public-table has no column {name!r}; it has {', '.join(types)}.")
        if types[name] is not None and (declared is None or name == target):
            raise ParameterError(f"column {name!r} of --public-table cannot be used: {types[name]}.")
    mapped = isinstance(found.get("bounds"), FeatureMap)
    rows = read(public_table, target, wanted) if mapped else read_columns(public_table, [*wanted, target])
    return {**found, "public_table": rows, "target": target}


# Names of arguments in messages, and the options that they are given by. Words of English only before an equals sign.
_OPTIONS = {
    "wanted_r_squared": "--want-r-squared",
    "interval_width": "--want-width",
    "interval_share": "--want-share",
    "bounds_slack": "--bounds-slack",
    "mean_weight": "--mean-weight",
    "r_squared": "--r-squared",
    "public_table": "--public-table",
    "max_rows_per_unit": "--max-rows-per-unit",
    "d": "--features",
    "n": "--rows",
    "methods?": "--methods",
    **{name: f"--{name}" for name in ("epsilon", "delta", "bounds", "condition", "neighbours", "target", "trials")},
}
_WORDS = ("n", "methods?", "epsilon", "delta", "bounds", "condition", "neighbours", "target", "trials")


@contextmanager
def _by_options() -> Iterator[None]:
    """Name the options in messages that name the arguments of a function."""
    try:
        yield
    except ParameterError as error:
        message = str(error)
        for name, option in _OPTIONS.items():
            message = re.sub(rf"(?<![\w'\"-]){name}=(?=[\w'\"(.-])", f"{option} ", message)
            if name not in _WORDS:
                message = re.sub(rf"(?<![\w'\"-]){name}(?![\w'\"=])", option, message)
        error.args = (message,)
        raise


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar of what was simulated, on a terminal only."""
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.completed:.0f} of {task.total:.0f}:"))
    shown = Progress(
        *columns,
        TextColumn("{task.description}", markup=False),
        console=watched,
        disable=not watched.is_terminal,
        transient=True,
    )
    with shown as bar:
        task = bar.add_task("starting", total=1)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
