"""Where rows come from and how they are bounded before anything is computed from them."""

from .bounds import Bounds
from .files import FileSource, read
from .memory import ArraySource, TableSource
from .opening import open_rows
from .row_map import RowMap
from .rows import BoundedRows
from .source import RowSource, Total

__all__ = [
    "ArraySource",
    "BoundedRows",
    "Bounds",
    "FileSource",
    "RowMap",
    "RowSource",
    "TableSource",
    "Total",
    "open_rows",
    "read",
]
