"""``dpols predict``: a saved model's predictions for a table in a file."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import DataError, ModelFileError
from . import options as given
from .console import out as console
from .console import working
from .output import check_output, write_text
from .tables import read_columns


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help='Model file written by "dpols fit".')],
    data: given.DataFile,
    out: Annotated[Path, typer.Option(help="CSV file to write, with the one column prediction.")],
) -> None:
    """Predict the target for each row of a CSV or Parquet file.

    Columns are found by name. A prediction costs no privacy budget of those whose rows the model was fitted on, but it
    does reveal the rows predicted for.
    """
    import numpy as np

    from ..estimators import PrivateLinearRegression

    fitted = PrivateLinearRegression.load(model)
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        raise ModelFileError(f"{str(model)!r} was fitted without column names; predict with it from Python.")
    check_output(out, inputs=(model, data))
    with working(f"Reading {data.name}"):
        table = read_columns(data, [str(name) for name in names])
    bad = int((~np.isfinite(np.asarray(table, dtype=np.float64))).any(axis=1).sum())
    if bad or table.num_rows == 0:
        what = f"has missing or infinite values in {bad} of {table.num_rows} rows" if bad else "has no rows"
        raise DataError(f"{str(data)!r} {what}; a prediction needs every feature of a row.")
    predictions = fitted.predict(table)
    write_text(out, ("prediction\n", *(f"{value!r}\n" for value in predictions.tolist())))
    console.print(f"{table.num_rows} predictions saved to {out}", soft_wrap=True)
