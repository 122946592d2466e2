"""Rows in files: read again in every pass, block by block, and never held as a whole."""

from .progress import Progress
from .reading import FileSource, column_types, read
from .task import FileTask, Stamp

__all__ = ["FileSource", "FileTask", "Progress", "Stamp", "column_types", "read"]
