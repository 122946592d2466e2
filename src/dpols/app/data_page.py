"""Data: which table, what one row is, and the budget of all fits on it. Only the header of the table is read."""

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from ..errors import DpolsError
from .choices import Choices, Data, TableColumn
from .declaring import ready
from .forms import FormError, Reader
from .site import Visit, go, project_page
from .tables import header_of, table_at


def start(visit: Visit) -> Response:
    """Go to the first page that is not filled in."""
    return go(visit.path(ready(visit.project.choices())))


def show(visit: Visit, problems: tuple[tuple[str, str], ...] = (), seen: "Seen | None" = None) -> Response:
    """Show the form, with what was chosen or typed, and the columns of the table that was looked into last."""
    data, typed = visit.project.choices().data, visit.fields if problems or seen else {}
    values = {
        "path": "" if data is None or data.uploaded else data.path,
        "decimal": "" if data is None else data.decimal or "",
        "rows": "" if data is None else str(data.rows),
        "unit": "" if data is None or data.unit is None else data.unit,
        "rows_per_unit": "" if data is None or data.unit is None else str(data.rows_per_unit),
        "ledger_path": "" if data is None else data.ledger,
        "ledger_way": "new" if data is None and visit.site.ledger is None else "existing",
        "total_epsilon": "3",
        "total_delta": "1e-6",
        **typed,
    }
    if seen is None and data is not None:
        seen = Seen(Path(data.path), data.uploaded, data.columns)
    return project_page(
        visit,
        "data.html",
        step="data",
        problems=problems,
        seen=seen,
        values=values,
        gone=seen is not None and not seen.path.exists(),
        fixed_ledger=visit.site.ledger,
        sent="" if seen is None or not seen.uploaded else _key_of(seen.path),
    )


@dataclass(frozen=True)
class Seen:
    """A table that was looked into."""

    path: Path
    uploaded: bool
    columns: tuple[TableColumn, ...]


def save(visit: Visit) -> Response:
    """Keep what was chosen; a table that was sent is kept in the app's private folder until the app ends."""
    fields, seen = Reader(visit.fields), None
    try:
        seen = _seen(visit, fields)
        if visit.fields.get("look"):
            return show(visit, seen=seen)
        _save(visit, fields, seen)
    except FormError as error:
        return show(visit, error.problems, seen)
    except (DpolsError, OSError) as error:
        text = str(error) if isinstance(error, DpolsError) else f"A file could not be written ({error.strerror})."
        return show(visit, (("", text),), seen)
    return go(visit.path("model"))


def _seen(visit: Visit, fields: Reader) -> Seen:
    path, uploaded = _table(visit, fields)
    return Seen(path, uploaded, header_of(path, "upload" if uploaded else "path"))


def _save(visit: Visit, fields: Reader, seen: Seen) -> None:
    model, columns, path = visit.project.choices().model, seen.columns, seen.path
    decimal = _decimal(fields, path)
    rows = fields.whole("rows", "The number of rows")
    unit, most = _unit(fields, columns)
    fields.done()
    ledger = _ledger(visit, fields, path)
    data = Data(str(path), seen.uploaded, decimal, columns, rows, unit, most, ledger)
    if model is not None and {model.target, *(feature.name for feature in model.features)} <= set(data.names):
        visit.project.change(data=data)
    else:
        visit.project.change(data=data, model=None, ranges=None)


def _table(visit: Visit, fields: Reader) -> tuple[Path, bool]:
    """Return the table: the one that was sent, the one whose path was typed, or the one that was sent before."""
    sent = visit.files.get("upload")
    if sent is not None and sent.filename:
        name = Path(sent.filename.replace("\\", "/")).name.lstrip(".") or "table"
        folder = Path(tempfile.mkdtemp(dir=visit.site.uploads))
        path = folder / name[-120:]
        with path.open("xb") as file:
            shutil.copyfileobj(sent.file, file, 1 << 20)
        return path, True
    typed = fields.text("path")
    if typed:
        return table_at(typed, "path"), False
    before = (visit.site.uploads / fields.text("sent")[:300].replace("\0", "")).resolve()
    if before.parent.parent == visit.site.uploads.resolve() and before.is_file():
        return before, True
    raise FormError(("path", "No table was chosen. Type the path of one on this machine, or choose a file."))


def _key_of(path: Path) -> str:
    """Return where in the private folder a table is that was sent, by which the form names it when it is sent again."""
    return f"{path.parent.name}/{path.name}"


def _decimal(fields: Reader, path: Path) -> str | None:
    from ..data.files import Dialect, column_types

    given = fields.text("decimal") or None
    try:
        column_types(path, Dialect(decimal=given))
    except DpolsError as error:
        fields.wrong("decimal", f"This decimal mark cannot be: {error}")
    return given


def _unit(fields: Reader, columns: tuple[TableColumn, ...]) -> tuple[str | None, int]:
    unit = fields.text("unit")
    if not unit:
        return None, 1
    if unit not in [column.name for column in columns]:
        fields.wrong("unit", "This table has no such column. Choose the column that says to whom a row belongs.")
    return unit, fields.whole("rows_per_unit", "The number of rows of each person or unit")


def _ledger(visit: Visit, fields: Reader, table: Path) -> str:
    """Return the ledger: of the app, an existing one, or a new one for this table."""
    from ..ledger import BudgetLedger

    if visit.site.ledger is not None:
        return _chargeable(visit.site.ledger, "")
    if fields.text("ledger_way") == "existing":
        typed = fields.required("ledger_path", "The path of the ledger is missing. Type it, or start a new ledger.")
        fields.done()
        return _chargeable(Path(typed).expanduser(), "ledger_path")
    other = _of_same_table(visit, table)
    if other is not None:
        raise FormError(
            (
                "ledger_path",
                f"Another project, {other.name!r}, is about the same table, and what is spent on a table adds up. Use "
                f"its ledger: choose 'an existing ledger' and type {other.data.ledger!r}.",  # type: ignore[union-attr]
            )
        )
    epsilon = fields.number("total_epsilon", "Epsilon of the whole budget", low=1e-6, high=1000.0)
    delta = fields.number("total_delta", "Delta of the whole budget", low=1e-300, high=0.5)
    fields.done()
    path = visit.project.folder / "budget.ledger"
    if path.exists():
        raise FormError(
            (
                "ledger_path",
                f"This project has a ledger, {str(path)!r}, which cannot be replaced. Choose 'an existing ledger'.",
            )
        )
    return str(BudgetLedger(path, epsilon=epsilon, delta=delta).path)


def _chargeable(path: Path, field: str) -> str:
    """Return the path of a ledger, or say why fits of the app cannot be charged to it."""
    from ..ledger import BudgetLedger

    try:
        ledger = BudgetLedger(path)
        relation = ledger.state().neighbours
    except DpolsError as error:
        raise FormError((field, str(error))) from None
    if not relation.rows_are_public:
        raise FormError(
            (
                field,
                f"This ledger keeps the number of rows private ({relation} neighbours), and fits of the app take it as "
                f"public. Use another ledger, or the command 'dpols fit --neighbours {relation}'.",
            )
        )
    return str(ledger.path)


def _of_same_table(visit: Visit, table: Path) -> Choices | None:
    """Return another project about the same file, if there is one."""
    for project in visit.site.projects.all():
        if project.key != visit.project.key:
            with suppress(DpolsError):  # of a project whose file is damaged
                choices = project.choices()
                if choices.data is not None and Path(choices.data.path) == table:
                    return choices
    return None


VIEWS = (("GET", "", start), ("GET", "/data", show), ("POST", "/data", save))
