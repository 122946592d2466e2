"""``dpols predict``: a saved model's predictions for a table in a file."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from ..data import FileSource, read
from ..data.files import Dialect
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
    interval: Annotated[
        Literal["observation", "mean", "median"] | None,
        typer.Option(
            help="Add the columns lower and upper: limits of a new observation, or of the mean; where a transform of "
            "the target was fitted, of the median instead of the mean. For models that were fitted with --inference."
        ),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="One minus the level of the limits; by default 0.05.")] = None,
    exposure: Annotated[
        str | None,
        typer.Option(help="Column of exposures, for models that were fitted with one; without it, exposure is 1."),
    ] = None,
    separator: given.Separator = None,
    decimal: given.Decimal = None,
    encoding: given.Encoding = None,
) -> None:
    """Predict the target for each row of a file or a folder of files.

    Columns are found by name. Predictions are clipped to the declared range of the target. Where a transform of the
    target was fitted, predictions are medians in the target's own units. For a yes/no target they are labels, with the
    column probability beside them; for a count they are its mean.

    A prediction costs no budget: it reveals no more about the rows that the model was fitted on. But it does reveal
    something about the rows that it is for.
    """
    from ..estimators import load_any

    level = _level(interval, alpha)
    fitted = load_any(model)
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        raise ModelFileError(f"{str(model)!r} was fitted without column names; predict with it from Python.")
    if fitted.family != "gaussian" and raw:
        raise ParameterError("--raw is for models of --family gaussian; leave it out.")
    if fitted.family != "gaussian" and interval not in (None, "mean"):
        raise ParameterError(f"--interval {interval} is for models of --family gaussian; use --interval mean.")
    if level is not None and getattr(fitted, "inference_", None) is None:
        raise ParameterError(f"--interval needs a model that was fitted with --inference, and {str(model)!r} was not.")
    if out.suffix.lower() != ".csv":
        raise ParameterError(f"--out {str(out)!r} must end in .csv, since that is what is written.")
    check_output(out, inputs=(model, data))
    dialect = Dialect(separator, decimal, encoding)
    source = read(data, columns=[str(name) for name in names], **dialect.options)
    if fitted.feature_map_ is not None:
        source = mapped_files(fitted.feature_map_, source)
    with working(f"Reading {data.name}"):
        exposures = None if exposure is None else _exposures(fitted, data, exposure, dialect)
        columns = _predicted(fitted, source, level, interval or "observation", raw, exposures)
    write_text(out, _lines(columns))
    console.print(f"{len(columns['prediction'])} predictions saved to {out}", soft_wrap=True)
    if (alarm := fitted.privacy_report_.alarm) is not None:
        console.print(alarm, style="bold red", soft_wrap=True)


def _level(interval: str | None, alpha: float | None) -> float | None:
    """Return one minus the level of the limits that are asked for, None where none are."""
    if interval is None:
        if alpha is not None:
            raise ParameterError("--alpha goes with --interval observation or --interval mean.")
        return None
    level = 0.05 if alpha is None else alpha
    if not 0.0 < level < 1.0:
        raise ParameterError(f"--alpha {level:g} must lie strictly between 0 and 1; 0.05 gives 95% intervals.")
    return level


def _predicted(
    fitted: "PrivateRegression",
    source: FileSource,
    alpha: float | None,
    interval: Literal["observation", "mean", "median"],
    raw: bool,
    exposures: Array | None,
) -> dict[str, Array]:
    """Return predictions for each row, or say that a feature is missing."""
    from ..estimators import PrivateLinearRegression

    if isinstance(fitted, PrivateLinearRegression):
        columns = _columns(source, partial(fitted.columns_of_predictions, alpha=alpha, interval=interval, raw=raw))
    else:
        columns = _columns(source, partial(fitted.columns_of_predictions, alpha=alpha), exposures)
    fitted.warn_of_missing(columns)
    return columns


def _exposures(fitted: "PrivateRegression", data: Path, column: str, dialect: Dialect) -> Array:
    """Return the exposure of each row."""
    if getattr(fitted, "exposure_range", None) is None:
        raise ParameterError("--exposure is for models that were fitted with exposure; leave it out.")
    return np.concatenate([block[:, 0] for block, _ in read(data, columns=[column], **dialect.options).blocks()])


def _columns(
    source: FileSource, predict: Callable[..., dict[str, Array]], exposures: Array | None = None
) -> dict[str, Array]:
    blocks: list[dict[str, Array]] = []
    place = 0
    for features, _ in source.blocks():
        if not np.isfinite(features).all():
            raise DataError(
                f"{source.path!r} has missing or infinite values; a prediction needs every feature of a row. Leave "
                "such rows out, or fill them in."
            )
        more = {} if exposures is None else {"exposure": exposures[place : place + len(features)]}
        blocks.append(predict(features, **more))
        place += len(features)
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _lines(columns: dict[str, Array]) -> Iterator[str]:
    yield ",".join(columns) + "\n"
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        yield ",".join(_cell(value) for value in row) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return '"{}"'.format(value.replace('"', '""'))
    return "" if value != value else repr(value)
