"""What a study is, and how much of it is run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...datasets import REAL
from ...datasets.networks import NETWORKS
from ..cells import Accounting, Cell
from ..rules import Evidence, Finding


@dataclass(frozen=True)
class Form:
    """How much of every study to run."""

    datasets: tuple[str, ...]
    trials: int
    networks: tuple[str, ...]
    network_rows: int
    network_trials: int
    epsilons: tuple[float, ...]  # where a study looks at more than one
    accountings: tuple[Accounting, ...] = ("paper", "exact")


@dataclass(frozen=True)
class Study:
    """A choice or a statement of the paper, the cells that test it, and the rule that decides."""

    name: str
    text: str
    rule: str
    cells: Callable[[Form], Sequence[Cell]]
    decide: Callable[[Evidence], Finding]


_SIX = (0.1, 0.251189, 0.630957, 1.584893, 3.981072, 10.0)

LONG = Form(datasets=REAL, trials=100, networks=tuple(NETWORKS), network_rows=2**18, network_trials=20, epsilons=_SIX)
SHORT = Form(
    datasets=("housing", "servo", "wine", "forest", "solar", "machine", "energy", "concrete"),
    trials=40,
    networks=("plain", "logistic-far", "rich-gentle", "rich-far"),
    network_rows=2**13,
    network_trials=20,
    epsilons=(0.1, 1.0, 10.0),
)


def cells_at(form: Form, methods: Sequence[str], datasets: Sequence[str], epsilons: Sequence[float]) -> list[Cell]:
    """Return the cells of methods on data sets in every kind of accounting."""
    return [
        Cell(dataset, method, accounting, "float", epsilon)
        for dataset in datasets
        for accounting in form.accountings
        for method in methods
        for epsilon in epsilons
    ]
