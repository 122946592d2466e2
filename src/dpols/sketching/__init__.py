"""Private Gaussian sketches of tables, for whatever one wants to compute from second moments."""

from .released import PrincipalComponents, PrivateSketch
from .releasing import release_sketch

__all__ = ["PrincipalComponents", "PrivateSketch", "release_sketch"]
