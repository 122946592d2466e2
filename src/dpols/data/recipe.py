"""Raw rows made into features and a target block by block, wherever a block is read: here, or on a worker."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..errors import DataError, DataTypeError
from .arrow_stream import made_stream_source, stream_columns
from .engines import ENGINES, made_engine_source
from .files import FileSource
from .kinds import is_stream, library_of, refuse_one_shot
from .source import Array, Block, RowSource
from .streamed_units import tagged

ColumnOf = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Recipe:
    """What is read of a table, and what is made of it."""

    raw: tuple[str, ...]  # the columns that features are made of
    text: tuple[str, ...]  # those columns, target included, that need not hold numbers
    names: tuple[str, ...]  # of the features
    target: str | None
    make: Callable[[Any], Block]  # pure, and importable where a block is read
    beside: tuple[str, ...] = ()  # further columns that are read: of weights, and of ids

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, the target last."""
        return (*self.raw, *self.beside, *([] if self.target is None else [self.target]))

    def with_unit(self, unit: str, column_of: ColumnOf) -> "Recipe":
        """Return the same with the id of each row's unit, a column of any type, beside its target."""
        make = partial(_tagged, self.make, unit, column_of)
        return replace(self, beside=(*self.beside, unit), text=(*self.text, unit), make=make)


def _tagged(make: Callable[[Any], Block], unit: str, column_of: ColumnOf, block: Any) -> tuple[Array, Array]:
    return tagged(*make(block), column_of(block, unit))


def is_raw(table: Any) -> bool:
    """Return whether rows are read anew in each pass, from columns with names: files, streams, tables of engines."""
    return isinstance(table, FileSource) or is_stream(table) or (library_of(table) in ENGINES and _has_names(table))


def raw_columns(table: Any) -> tuple[str, ...]:
    """Return the names of the columns of such rows; of files without the target, which has been named."""
    if isinstance(table, FileSource):
        return table.columns
    return stream_columns(table) if is_stream(table) else tuple(str(name) for name in table.columns)


def named_target(table: Any, target: Any) -> str:
    """Return the name of the target's column; one that has none is refused."""
    if isinstance(table, FileSource):
        if target is not None or table.target is None:
            raise DataError("a source of rows has its own target: name it when it is opened, and pass no y to fit.")
        return table.target
    if not isinstance(target, str):
        raise DataError(
            f"y must be the name of a column where X is of type {type(table).__name__} and a feature map or a unit is "
            "given: its rows have no order in which they could be matched with targets."
        )
    return target


def made_source(table: Any, recipe: Recipe) -> RowSource:
    """Return what a recipe makes of rows; wrong columns are refused before anything is planned."""
    refuse_one_shot(table)
    if isinstance(table, FileSource):
        return table.mapped((*recipe.raw, *recipe.beside), recipe.names, recipe.make, recipe.text)
    if not is_raw(table):
        raise unnamed(table)
    present = raw_columns(table)
    missing = [name for name in recipe.columns if name not in present]
    if missing:
        raise DataError(f"the table has no column {missing[0]!r}; its columns are {list(present)}.")
    if is_stream(table):
        assert recipe.target is not None
        return made_stream_source(table, recipe.target, recipe.names, recipe.make)
    return made_engine_source(table, recipe.columns, recipe.text, recipe.names, recipe.make)


def unnamed(table: Any) -> DataTypeError:
    """Return what refuses rows whose columns have no names."""
    return DataTypeError(
        f"a feature map or a unit cannot be applied to rows of type {type(table).__name__}, whose columns have no "
        "names here. Pass a table (of a Dask array, X.to_dask_dataframe(columns=[...])), or write the rows to Parquet "
        "files and pass dpols.read(path, target=...)."
    )


def _has_names(table: Any) -> bool:
    return hasattr(table, "columns") and (hasattr(table, "dtypes") or hasattr(table, "schema"))
