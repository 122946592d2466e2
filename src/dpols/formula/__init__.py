"""Regressions by formula: translated into a feature map, and fitted as any other."""

from .fit import ols
from .translation import Translated, target_of, translated

__all__ = ["Translated", "ols", "target_of", "translated"]
