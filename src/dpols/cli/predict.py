"""``dpols predict``: a saved model's predictions for a table in a file."""

from pathlib import Path
from typing import Annotated

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


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help='Model file written by "dpols fit".')],
    data: given.DataFile,
    out: Annotated[Path, typer.Option(help="CSV file to write, with the one column prediction.")],
    raw: Annotated[bool, typer.Option("--raw", help="Do not clip predictions to the target's range.")] = False,
) -> None:
    """Predict the target for each row of a file or a folder of files.

    Columns are found by name. Predictions are clipped to the declared range of the target.

    A prediction costs no budget: it reveals no more about the rows that the model was fitted on. But it does reveal
    something about the rows that it is for.
    """
    from ..estimators import PrivateLinearRegression

    fitted = PrivateLinearRegression.load(model)
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
        predictions = predicted(source, fitted.coef_, fitted.intercept_)
    if not raw:
        predictions = predictions.clip(*fitted.target_range_)
    write_text(out, ("prediction\n", *(f"{value!r}\n" for value in predictions.tolist())))
    console.print(f"{len(predictions)} predictions saved to {out}", soft_wrap=True)


def predicted(source: FileSource, coefficients: Array, intercept: float) -> Array:
    """Return a prediction for each row, or say that a feature is missing."""
    with np.errstate(invalid="ignore", over="ignore"):
        values = np.concatenate([features @ coefficients + intercept for features, _ in source.blocks()])
    if not np.isfinite(values).all():
        raise DataError(f"{source.path!r} has missing or infinite values; a prediction needs every feature of a row.")
    return np.asarray(values)
