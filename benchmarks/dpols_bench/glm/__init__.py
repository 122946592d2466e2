"""How accurate private logistic and Poisson regressions are on public tables, with ranges as a codebook states them."""

from .definitions import TABLES, Table
from .evaluation import Evaluation, Settings, evaluate

__all__ = ["TABLES", "Evaluation", "Settings", "Table", "evaluate"]
