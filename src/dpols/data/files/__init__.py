"""Rows in files: read again in every pass, block by block, and never held as a whole."""

from .dialect import Dialect
from .progress import Progress
from .reading import FileSource, column_types, columns_in_words, read, table_in_memory
from .task import FileTask, Stamp

__all__ = [
    "Dialect",
    "FileSource",
    "FileTask",
    "Progress",
    "Stamp",
    "column_types",
    "columns_in_words",
    "read",
    "table_in_memory",
]
