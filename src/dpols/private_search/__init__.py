"""A choice among settings by noisy scores, within one privacy budget."""

from .grid_search import PrivateGridSearch
from .search import SearchReport

__all__ = ["PrivateGridSearch", "SearchReport"]
