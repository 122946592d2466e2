"""Who is scored: a method of the evaluation under one kind of accounting."""

from dataclasses import dataclass

from ..paper.cells import Accounting, Cell
from ..paper.variants import ABLATIONS, GRADIENT_DESCENT, STEPS

# Gradient descent reads the data up to 400 times: it has fewer trials, and is left out beyond this many rows.
_MOST_ROWS_OF_GRADIENT_DESCENT, _MOST_TRIALS_OF_GRADIENT_DESCENT = 50_000, 30


@dataclass(frozen=True)
class Contender:
    """A method and its accounting."""

    method: str
    accounting: Accounting
    most_rows: int | None = None
    most_trials: int | None = None

    def __str__(self) -> str:
        return f"{self.method} ({self.accounting})"

    def cell(self, dataset: str, epsilon: float) -> Cell:
        """Return the cell of this contender on a data set."""
        return Cell(dataset, self.method, self.accounting, "float", epsilon)


DEFAULT = Contender("whitened", "exact")
YARDSTICK = Contender("ihm", "paper")
STOPPED = Contender(GRADIENT_DESCENT.name, "exact", _MOST_ROWS_OF_GRADIENT_DESCENT, _MOST_TRIALS_OF_GRADIENT_DESCENT)
RIVALS = tuple(Contender(name, "exact") for name in ("ihm", "adassp", "linmix"))
CONTENDERS = (
    DEFAULT,
    YARDSTICK,
    *RIVALS,
    Contender("adassp", "paper"),
    Contender("linmix", "paper"),
    STOPPED,
)
STEP_COUNTS = tuple(Contender(row.name, "exact") for row in STEPS)
PARTS = (Contender("whitened", "paper"), *(Contender(row.name, "exact") for row in ABLATIONS))
