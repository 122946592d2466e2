"""The command ``dpols``: one file per command, each of which parses, calls the library and prints.

An error is one line on standard error that starts with ``error:``, a warning one that starts with ``warning:``. The
exit code is 2 for bad input or usage and 1 for anything else, such as a ledger that refuses, an extra that is missing
or a disk that is full; ``dpols verify`` has one more. With the environment
variable ``DPOLS_DEBUG`` set, errors keep their traceback.
"""

import os
import sys
import warnings
from collections.abc import Callable, Sequence

from ..errors import BudgetExceeded, DpolsError, MissingExtraError
from ..seen_text import visible

_BAD_INPUT = (DpolsError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
_NOT_THE_USERS_FAULT = (MissingExtraError, BudgetExceeded)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command, by default with the arguments of the process, and exit."""
    exit_after(lambda: _run(arguments))


def exit_after(run: Callable[[], int]) -> None:
    """Exit with the code that ``run`` returns, or with an error in one line."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = run()
        sys.exit(code)
    except Exception as error:
        if os.environ.get("DPOLS_DEBUG"):
            raise
        _say("error", " ".join((_message(error), *getattr(error, "__notes__", ()))))
        bad_input = isinstance(error, _BAD_INPUT) and not isinstance(error, _NOT_THE_USERS_FAULT)
        sys.exit(2 if bad_input else 1)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        from .app import run
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("typer", "rich"):
            raise MissingExtraError(package, "cli") from None
        raise
    return run(arguments)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say("warning", str(message))


def _say(what: str, message: str) -> None:
    """Print one line on standard error, whatever the message looks like, so that it can be read in a log."""
    print(f"{what}:", visible(" ".join(message.split())), file=sys.stderr)


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, DpolsError) and error.strerror:
        where = "" if error.filename is None else f"{str(error.filename)!r}: "
        return f"{where}{error.strerror}."
    if isinstance(error, DpolsError | OSError):
        return str(error)
    # The words of other libraries may quote a cell.
    return (
        f"unexpected {type(error).__name__}; it may be a bug of dpols. Set DPOLS_DEBUG=1 to see where, and what it "
        "says, which may quote the table."
    )
