"""Do intervals cover what they say? Simulated fits on fresh data, cell by cell."""

from .cells import DESIGNS, SEED, Cell, Group, family_groups, quick_groups, standard_groups
from .evaluation import evaluate, markdown, to_dict

__all__ = [
    "DESIGNS",
    "SEED",
    "Cell",
    "Group",
    "evaluate",
    "family_groups",
    "markdown",
    "quick_groups",
    "standard_groups",
    "to_dict",
]
