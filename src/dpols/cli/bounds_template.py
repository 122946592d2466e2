"""``dpols bounds-template``: a bounds file to fill in."""

from pathlib import Path
from typing import Annotated

import typer

from ..data.files import Dialect
from ..errors import DataError, ParameterError, did_you_mean
from . import bounds_file
from . import options as given
from .console import out as console
from .found_bounds import columns_with
from .output import check_output, write_text


def bounds_template(
    data: given.DataFile,
    target: given.Target,
    out: Annotated[Path, typer.Option(help='TOML file to write, or "-" to print it.')] = Path("bounds.toml"),
    categories: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns that hold categories; the others hold numbers.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    separator: given.Separator = None,
    encoding: given.Encoding = None,
) -> None:
    """Write a bounds file with the column names of a table and limits to fill in.

    Reads the header only, never a row: the limits and categories must come from public knowledge. A CSV header
    gives no types; name the columns of categories with --categories, or choose in the file.
    """
    columns = columns_with(target, data, "--target", Dialect(separator, encoding=encoding))
    named = [name for name in (categories or "").split(",") if name]
    unknown = [name for name in named if name not in columns or name == target]
    if unknown:
        meant = did_you_mean(unknown[0], [name for name in columns if name != target])
        raise DataError(f"--categories {unknown[0]!r} is not a feature column of {str(data)!r}{meant}.")
    typed = data.suffix.lower() in (".parquet", ".pq", ".feather", ".arrow", ".ipc", ".npy", ".dta")
    text = bounds_file.bounds_template(columns, target, categories=named, typed=typed)
    if str(out) == "-":
        typer.echo(text, nl=False)
        return
    check_output(out, inputs=(data,))
    if out.exists() and not force:
        raise ParameterError(
            f"{str(out)!r} exists and may hold limits; choose another --out, or replace it by --force."
        )
    write_text(out, [text])
    console.print(f"Fill in {out}, then pass it to dpols fit --bounds {out}", soft_wrap=True)
