"""``dpols predict``: a saved model's predictions for a table in a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..data import FileSource, read
from ..data.source import Array
from ..errors import DataError, ModelFileError, ParameterError
from ..feature_map import mapped_files
from . import options as given
from .console import out as console
from .console import working
from .output import check_output, write_text

if TYPE_CHECKING:
    from ..estimators import PrivateRegression


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help='Model file written by "dpols fit".')],
    data: given.DataFile,
    out: Annotated[Path, typer.Option(help="CSV file to write, with the column prediction.")],
    raw: Annotated[bool, typer.Option("--raw", help="Do not clip predictions to the target's range.")] = False,
) -> None:
    """Predict the target for each row of a file or a folder of files.

    Columns are found by name. Predictions are clipped to the declared range of the target. For a yes/no target they are
    labels, with the column probability beside them; for a count they are its mean.

    A prediction costs no budget: it reveals no more about the rows that the model was fitted on. But it does reveal
    something about the rows that it is for.
    """
    from ..generalised_estimators import load_any

    fitted = load_any(model)
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        raise ModelFileError(f"{str(model)!r} was fitted without column names; predict with it from Python.")
    if out.suffix.lower() != ".csv":
        raise ParameterError(f"--out {str(out)!r} must end in .csv, since that is what is written.")
    check_output(out, inputs=(model, data))
    source = read(data, columns=[str(name) for name in names])
    if fitted.feature_map_ is not None:
        source = mapped_files(fitted.feature_map_, source)
    with working(f"Reading {data.name}"):
        columns = _predicted(fitted, source, raw)
    write_text(out, _lines(columns))
    console.print(f"{len(columns['prediction'])} predictions saved to {out}", soft_wrap=True)


def _predicted(fitted: "PrivateRegression", source: FileSource, raw: bool) -> dict[str, Array]:
    """Return columns of predictions for each row, or say that a feature is missing."""
    if fitted.family == "gaussian":
        values = predicted(source, fitted.coef_, fitted.intercept_)
        return {"prediction": values if raw else values.clip(*fitted.target_range_)}
    if raw:
        raise ParameterError("--raw is for models of --family gaussian; leave it out.")
    blocks = []
    for features, _ in source.blocks():
        if not np.isfinite(features).all():
            raise DataError(_missing(source))
        blocks.append(fitted.columns_of_predictions(features))
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _lines(columns: dict[str, Array]) -> Iterator[str]:
    """Yield the lines of a CSV file."""
    yield ",".join(columns) + "\n"
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        yield ",".join(_cell(value) for value in row) + "\n"


def _cell(value: Any) -> str:
    return '"{}"'.format(value.replace('"', '""')) if isinstance(value, str) else repr(value)


def _missing(source: FileSource) -> str:
    return f"{source.path!r} has missing or infinite values; a prediction needs every feature of a row."


def predicted(source: FileSource, coefficients: Array, intercept: float) -> Array:
    """Return a prediction for each row, or say that a feature is missing."""
    with np.errstate(invalid="ignore", over="ignore"):
        values = np.concatenate([features @ coefficients + intercept for features, _ in source.blocks()])
    if not np.isfinite(values).all():
        raise DataError(_missing(source))
    return np.asarray(values)
