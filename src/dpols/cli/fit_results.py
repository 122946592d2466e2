"""The last step of ``dpols fit``: the fit itself, into files whose space is taken before it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import simplefilter

import typer

from ..data import read
from ..data.files import Progress
from ..errors import BadRowsError, WeakGuaranteeWarning
from ..feature_map import FeatureMap
from ..seen_text import visible
from ..storage.placed_file import placed_file, room_for
from .declared_table import DeclaredTable
from .family import NUMBERS
from .progress import pass_bar, passes_in_file
from .report import report_text

if TYPE_CHECKING:
    from ..estimators import PrivateRegression


def fit_into_files(
    model: "PrivateRegression", table: DeclaredTable, out: Path, report: Path | None, progress: Path | None = None
) -> list[str]:
    """Fit a model and write it, and its report; return what to say where a file could not be written.

    ``progress`` names a file that is written again and again while the fit runs.
    """
    names = table.columns if table.declared is None else table.declared.names
    room = room_for(names, pairs=getattr(model, "inference", False) is not False)
    with ExitStack() as files:
        model_file = files.enter_context(placed_file(out, room))
        report_file = None if report is None else files.enter_context(placed_file(report, room))
        _fit(model, table, pass_bar(f"Fitting {table.data.name}") if progress is None else passes_in_file(progress))
        # The budget is spent by now: what came out is saved and shown, also where a file cannot be written.
        problems = [model_file.fill(model.to_json().encode())]
        if report_file is not None:
            problems.append(report_file.fill(report_text(report_file.path, model.privacy_report_).encode()))
    return [problem for problem in problems if problem is not None]


def _fit(model: "PrivateRegression", table: DeclaredTable, watched: AbstractContextManager[Progress]) -> None:
    data, target = table.data, table.target
    simplefilter("ignore", WeakGuaranteeWarning)  # the report begins with it
    explained = bad_rows_explained(
        data,
        table.declared,
        labels=getattr(model, "classes", None),
        weights=table.weight is not None,
        exposure=table.exposure is not None,
    )
    with interrupts_explained(), explained, watched as progress:
        beside = (table.unit, table.weight, table.exposure)
        names = [*table.columns, *(name for name in beside if name is not None)]
        source = read(data, target, names, **table.dialect.options)
        more = {} if table.exposure is None else {"exposure": table.exposure}
        model.fit(source, sample_weight=table.weight, progress=progress, **more)


@contextmanager
def interrupts_explained() -> Iterator[None]:
    """Say on standard error what became of a charge when an interrupt came, of which else only the exit code tells."""
    try:
        yield
    except KeyboardInterrupt as error:
        typer.echo(visible(" ".join(("interrupted.", *getattr(error, "__notes__", ())))), err=True)
        raise


@contextmanager
def bad_rows_explained(
    data: Path, declared: FeatureMap | None, *, labels: Any = None, weights: bool = False, exposure: bool = False
) -> Iterator[None]:
    """Say of rows that are not finite what a command can do about them."""
    try:
        yield
    except BadRowsError as error:
        columns = {} if declared is None else declared.columns
        without = [repr(name) for name, column in columns.items() if column.missing is None]
        which = f" (nothing yet of {', '.join(without)})" if without else ""
        unlisted = "" if labels is None else ", or a label that --classes does not list"
        if labels == NUMBERS:
            unlisted = ", or a label other than 0 and 1 (if the labels are texts, pass --classes no,yes)"
        weighed = ", or a weight that is empty or below 0" if weights else ""
        weighed += ", or an exposure that is empty or not above 0" if exposure else ""
        error.args = (
            f"{str(data)!r} has an empty or infinite cell in a feature or the target{unlisted}{weighed}, and such rows "
            "are refused. Pass --bad-rows zero to fit on complete rows only: rows with an empty cell are left out. Or "
            f"declare in the bounds file by missing = ... what an empty cell of a feature counts as{which}; of the "
            "target there is no such value. Values filled in from the data void the guarantee.",
        )
        raise
