"""Fits that are made once: each has a number, a folder that only one request can make, and a process of its own.

A request to make fit 3 renames a finished folder to ``fits/3``, which succeeds once, whoever asks, however often, in
however many windows. Whoever comes later is shown fit 3. The fit is the command ``dpols fit`` in a session of its own,
so that it goes on where the app is killed: the ledger is charged once, and the model that was paid for is written. A
lock on a file, which the process inherits and the system takes away when it ends, tells whether it still runs.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ..errors import DpolsError, LedgerError, ParameterError
from ..storage.plain_data import read_fields
from .choices import Choices
from .declaring import bounds_text
from .equivalents import fit_arguments
from .project import Project, digest
from .tables import check_same_table

Status = Literal["running", "done", "failed"]
_STANDING = {"open": "reserved, and counted as spent", "spent": "spent"}


@dataclass(frozen=True)
class Fit:
    """One fit: where it is, what was asked for, and how it stands."""

    number: int
    folder: Path
    choices: Choices
    digest: str
    time: str
    rows_before: int  # of the ledger

    @property
    def model_file(self) -> Path:
        """The model, which is there once the fit is done."""
        return self.folder / "model.json"

    @property
    def status(self) -> Status:
        """How it stands; a fit that has neither a process nor a model has failed."""
        if self.model_file.is_file():
            return "done"
        if _is_locked(self.folder / "lock"):
            return "running"
        return "done" if self.model_file.is_file() else "failed"  # it may have ended in between

    def progress(self) -> dict[str, int]:
        """Return the pass that runs and the rows that it has read."""
        try:
            found = json.loads((self.folder / "progress.json").read_text(encoding="utf-8"))
            return {name: int(found[name]) for name in ("pass", "rows", "of")}
        except (OSError, ValueError, KeyError, TypeError):
            return {"pass": 0, "rows": 0, "of": 0}

    def message(self) -> str:
        """Return why a fit has failed, as the command said it; its messages never quote a row."""
        try:
            lines = (self.folder / "messages.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        return errors[-1] if errors else "The fit was stopped before it had ended."

    def charges(self) -> list[str]:
        """Say what the ledger was charged since the fit began, by this fit or by others; nothing where it was not."""
        from ..ledger import BudgetLedger

        assert self.choices.data is not None
        try:
            entries = BudgetLedger(self.choices.data.ledger).entries()
        except (DpolsError, OSError):
            return ["the ledger cannot be read"]
        return [
            f"row {entry.number}: {entry.what} ({_STANDING[entry.status]})"
            for entry in entries
            if entry.number > self.rows_before and entry.status != "void"
        ]


def fits_of(project: Project) -> list[Fit]:
    """Return all fits of a project, oldest first."""
    if not project.fits_folder.is_dir():
        return []
    numbers = sorted(int(path.name) for path in project.fits_folder.iterdir() if path.name.isdecimal())
    return [fit for number in numbers if (fit := fit_of(project, number)) is not None]


def fit_of(project: Project, number: int) -> Fit | None:
    """Return one fit, None where there is none."""
    folder = project.fits_folder / str(number)
    try:
        kept = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        choices = read_fields(Choices, kept["choices"])
        return Fit(number, folder, choices, kept["digest"], kept["time"], int(kept["rows_before"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Runner:
    """Starts fits, and waits for them when the app ends."""

    def __init__(self, keep: tuple[int, ...] = ()) -> None:
        self._keep = keep  # what a fit inherits beside its lock
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, project: Project, number: int, shown: str) -> Fit:
        """Make a fit, unless it has been made; return it. What was shown must still be what would be fitted."""
        with project.lock:
            made = fit_of(project, number)
            if made is not None:
                return made
            choices = project.choices()
            if digest(choices) != shown:
                raise ParameterError(
                    "The settings have changed since this page was shown, perhaps in another window. Nothing was "
                    "spent. Look at them again, and then fit."
                )
            if number != len(fits_of(project)) + 1:
                made = fit_of(project, number)  # another process, which has a lock of its own, may just have made it
                if made is not None:
                    return made
                raise ParameterError("This page is out of date. Nothing was spent. Look at the settings again.")
            self._claim(project, number, choices)
            fit = fit_of(project, number)
        if fit is None:
            raise ParameterError(f"Fit {number} could not be begun, and nothing was spent. Try again.")
        return fit

    def _claim(self, project: Project, number: int, choices: Choices) -> None:
        """Make the folder of a fit, with all that is known of it, and start it, unless another process has made it."""
        import fcntl

        assert choices.data is not None
        assert choices.model is not None
        assert choices.ranges is not None
        check_same_table(Path(choices.data.path), choices.data.names)
        request = {
            "choices": asdict(choices),
            "digest": digest(choices),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "rows_before": _rows_of(choices.data.ledger),
        }
        project.fits_folder.mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=project.fits_folder, prefix=".new-"))
        (made / "bounds.toml").write_text(bounds_text(choices.model, choices.ranges, choices.data), encoding="utf-8")
        (made / "request.json").write_text(json.dumps(request, indent=2), encoding="utf-8")
        folder = project.fits_folder / str(number)
        with (made / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                os.rename(made, folder)  # fails where there is one, which is not empty
            except OSError:
                shutil.rmtree(made, ignore_errors=True)
                return
            self._spawn(folder, choices, lock.fileno())

    def _spawn(self, folder: Path, choices: Choices, lock: int) -> None:
        written = ["--out=model.json", "--report=report.html", "--progress=progress.json"]
        command = [sys.executable, "-P", "-m", "dpols", "fit", *fit_arguments(choices, "bounds.toml"), *written]
        surroundings = {name: value for name, value in os.environ.items() if name != "DPOLS_DEBUG"}
        with (folder / "printed.txt").open("wb") as printed, (folder / "messages.txt").open("wb") as messages:
            child = subprocess.Popen(
                command,
                cwd=folder,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=messages,
                start_new_session=True,
                pass_fds=(lock, *self._keep),
            )
        self._children.append(child)

    def reap(self) -> bool:
        """Forget processes that have ended; return whether some still run."""
        self._children = [child for child in self._children if child.poll() is None]
        return bool(self._children)

    def wait(self) -> None:
        """Wait for all fits, whose tables may be deleted afterwards."""
        for child in self._children:
            child.wait()


def _rows_of(ledger: str) -> int:
    from ..ledger import BudgetLedger

    try:
        return int(BudgetLedger(ledger).head().partition(":")[0])
    except LedgerError as error:
        raise ParameterError(f"Nothing was spent: {error}") from None


def _is_locked(path: Path) -> bool:
    import fcntl

    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two who look do not see each other
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def summary_of(fit: Fit) -> dict[str, Any]:
    """Return a line on a fit for lists."""
    model, plan = fit.choices.model, fit.choices.plan
    assert model is not None
    assert plan is not None
    return {
        "number": fit.number,
        "time": fit.time,
        "target": model.target,
        "epsilon": plan.epsilon,
        "status": fit.status,
    }
