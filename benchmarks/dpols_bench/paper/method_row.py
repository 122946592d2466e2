"""What a method of the evaluation is: an algorithm of the library, with options of its own."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from dpols.algorithms import ALGORITHMS
from dpols.privacy import PrivacyBudget

# Options that depend on public numbers: of the numbers of rows and of features, and the budget.
Options = Callable[[int, int, PrivacyBudget], Mapping[str, Any]]
# Changes to a plan that its method has no option for, since what results is wrong or costs more than it says.
Change = Callable[[Any], Any]


@dataclass(frozen=True)
class Method:
    """One curve of the figures."""

    name: str
    title: str
    algorithm: str
    colour: str
    marker: str
    options: Options = field(default=lambda n, d, budget: {}, repr=False)
    change: Change = field(default=lambda plan: plan, repr=False)
    datasets: tuple[str, ...] | None = None  # None: all
    dashed: bool = False
    replaced: Mapping[str, Any] = field(
        default_factory=dict, repr=False
    )  # names of the algorithm's module, for ablations

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Have the algorithm's module use what is replaced."""
        if not self.replaced:
            yield
            return
        with mock.patch.multiple(sys.modules[ALGORITHMS[self.algorithm].run.__module__], **self.replaced):
            yield
