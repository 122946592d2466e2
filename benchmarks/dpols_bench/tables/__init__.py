"""How accurate private regressions are on tables as people have them, with ranges as a codebook states them."""

from .definitions import TABLES, Table
from .evaluation import Evaluation, Settings, evaluate

__all__ = ["TABLES", "Evaluation", "Settings", "Table", "evaluate"]
