"""Standard errors, intervals and summaries, from what a fit released."""

from .from_releases import infer
from .intervals import Estimate, Inference

__all__ = ["Estimate", "Inference", "infer"]
