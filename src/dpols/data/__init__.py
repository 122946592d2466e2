"""Where rows come from and how they are bounded before anything is computed from them."""

from .bounds import Bounds, RowMap
from .files import FileSource, read
from .memory import ArraySource, TableSource, as_source
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
    "as_source",
    "read",
]
