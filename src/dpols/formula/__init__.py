"""Regressions by formula: translated into a feature map, and fitted as any other."""

from .fit import logit, ols, outer_limits, poisson, with_outcome
from .translation import Translated, target_of, translated

__all__ = ["Translated", "logit", "ols", "outer_limits", "poisson", "target_of", "translated", "with_outcome"]
