"""HTML pages of the benchmarks, which extend the base page of dpols, and goals with what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpols.pages import environment


@dataclass(frozen=True)
class Goal:
    """Something to be reached, and whether it was."""

    text: str
    limit: float
    value: float
    reached: bool
    detail: str

    @property
    def verdict(self) -> str:
        """Reached or missed."""
        return "reached" if self.reached else "missed"


def render(name: str, **values: Any) -> str:
    """Return a page from a template of the benchmarks."""
    return environment("dpols_bench").get_template(name).render(values)


def goal_rows(goals: Sequence[Goal]) -> list[list[str]]:
    """Return goals as rows of plain text."""
    return [[goal.text, f"{goal.limit:.3g}", goal.detail, goal.verdict] for goal in goals]
