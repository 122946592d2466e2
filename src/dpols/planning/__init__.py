"""Planning before spending: what accuracy to expect of private fits, from public numbers and simulation alone."""

from .accuracy import EPSILONS, METHODS, AccuracyPlan, Recommendation, plan_accuracy
from .outlook import IntervalOutlook, interval_outlook
from .question import TRIALS, Assumptions
from .search import Answer, required_epsilon, required_rows
from .simulation import PlannedRow

__all__ = [
    "EPSILONS",
    "METHODS",
    "TRIALS",
    "AccuracyPlan",
    "Answer",
    "Assumptions",
    "IntervalOutlook",
    "PlannedRow",
    "Recommendation",
    "interval_outlook",
    "plan_accuracy",
    "required_epsilon",
    "required_rows",
]
