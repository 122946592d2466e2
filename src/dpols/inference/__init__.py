"""Standard errors, intervals and summaries, from what a fit released."""

from .intervals import Estimate, Inference, infer, on_powers

__all__ = ["Estimate", "Inference", "infer", "on_powers"]
