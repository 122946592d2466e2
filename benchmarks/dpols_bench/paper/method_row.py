"""What a method of the evaluation is: an algorithm of the library, with options of its own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

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
    )  # names in modules of algorithms, for ablations

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Have the modules of the algorithm use what is replaced, by names such as ``whitened._FIRST``."""
        with ExitStack() as stack:
            for name, value in self.replaced.items():
                stack.enter_context(mock.patch(f"dpols.algorithms.{name}", value))
            yield
