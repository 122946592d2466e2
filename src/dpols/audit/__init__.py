"""Tools that inspect the library: replay of runs on neighbouring data, and lower bounds on what a run costs."""

from .evidence import Evidence, epsilon_lower_bound
from .lower_bound import Audit, audit
from .replay import ReplayReport, replay

__all__ = ["Audit", "Evidence", "ReplayReport", "audit", "epsilon_lower_bound", "replay"]
