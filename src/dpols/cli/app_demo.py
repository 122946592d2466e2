"""The project of ``dpols app --demo``: made-up employees with an outcome of each kind, filled in up to the plan."""

import tomllib
from pathlib import Path

from ..app.choices import Data, Feature, Limit, Model, Ranges, TableColumn
from ..app.project import Project, Projects
from ..ledger import BudgetLedger
from .demo import write_csv
from .demo_data import STAFF_DECLARED, STAFF_TARGET, staff_outcomes

_ROWS = 20_000
_NAME = "demo"


def demo_project(folder: Path) -> Project:
    """Return the project, which is made unless it is there."""
    projects = Projects(folder)
    found = projects.find(_NAME)
    if found is not None:
        return found
    project = projects.create(_NAME)
    table = project.folder / "staff.csv"
    columns = staff_outcomes(_ROWS, seed=0)
    write_csv(table, columns)
    ledger = BudgetLedger(project.folder / "budget.ledger", epsilon=3.0, delta=1e-6)
    data = Data(
        str(table), False, None, tuple(TableColumn(name, False) for name in columns), _ROWS, None, 1, str(ledger.path)
    )
    project.change(data=data, model=_model(), ranges=_ranges())
    return project


def _model() -> Model:
    features = tomllib.loads(STAFF_DECLARED)["features"]
    made = (Feature(name, tuple(table.get("categories", ())), False) for name, table in features.items())
    return Model(STAFF_TARGET, "number", "", "", tuple(made), ())


def _ranges() -> Ranges:
    document = tomllib.loads(STAFF_DECLARED)
    tables = {STAFF_TARGET: document["target"], **document["features"], "sick_days": {"low": 0, "high": 60}}
    limits = tuple(
        Limit(name, *(str(table.get(part, "")) for part in ("low", "high", "missing")))
        for name, table in tables.items()
    )
    return Ranges(False, "common knowledge about jobs", limits)
