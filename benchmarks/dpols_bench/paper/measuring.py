"""The data sets of a run, measured: sizes, eigenvalues and losses, and why some are not available."""

from collections.abc import Sequence

from ..datasets import UnavailableError, source
from .cells import problem
from .dataset_table import TableRow, measure
from .published import published


def measured_table(names: Sequence[str]) -> list[TableRow]:
    """Measure data sets, the largest last, so that it is still at hand when it is run."""
    rows = {}
    for name in sorted(names, key=lambda name: name == "mlp"):
        try:
            on = problem(name)
        except UnavailableError as error:
            rows[name] = TableRow(name, source(name).title, None, published(name), str(error))
        else:
            rows[name] = TableRow(name, on.title, measure(on.data, on.risk), published(name))
    return [rows[name] for name in names]
