"""Every error that dpols raises on purpose.

All derive from ``DpolsError`` and from the built-in that scikit-learn users expect. A message says what is
wrong, the value, the rule and the remedy, and never quotes a row of the data.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any


class DpolsError(Exception):
    """Base of all errors of dpols."""


class ParameterError(DpolsError, ValueError):
    """A parameter is missing or outside its range."""


class BoundsError(DpolsError, ValueError):
    """The declared bounds are missing, malformed or do not fit the data's columns."""


class CalibrationError(DpolsError, ValueError):
    """No noise level in the searched range meets the budget."""


class BudgetExceeded(DpolsError, ValueError):
    """What was released, or is about to be, costs more than was asked for."""


class DataError(DpolsError, ValueError):
    """The rows cannot be used: wrong shape, not numeric, not finite or not readable."""


class BadRowsError(DataError):
    """A row has a missing or infinite value, and such rows are refused."""


class DataTypeError(DpolsError, TypeError):
    """The rows are of a type that cannot be used."""


class ModelFileError(DpolsError, ValueError):
    """A model file is damaged, incomplete or from a newer version."""


class LedgerError(DpolsError, RuntimeError):
    """A budget ledger cannot be read or written, or is not what was written."""


class MissingExtraError(DpolsError, ImportError):
    """An optional package is needed; the message names the extra to install."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed. Install it, in a clone of dpols, with: pip install '.[{extra}]'")


def required(package: str, extra: str) -> ModuleType:
    """Return an optional package, or say which extra to install."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtraError(package, extra) from None


def quoted(value: Any, most: int = 8) -> str:
    """Return a value as Python writes it; of what may hold rows, such as a table in a wrong place, only the type.

    ``most`` is how many values a list may have to be quoted.

    >>> quoted(0.5), quoted(("no", "yes")), quoted([0.5] * 1_000)
    ('0.5', "('no', 'yes')", 'a value of type list')
    """
    return repr(value) if _is_short(value, most) else f"a value of type {type(value).__name__}"


def _is_short(value: Any, most: int) -> bool:
    if isinstance(value, list | tuple | set | frozenset | dict):
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        return len(value) <= most and all(_is_short(one, most) for one in inner)
    if isinstance(value, str | bytes | type) or getattr(value, "shape", None) == ():
        return True
    return not any(hasattr(value, name) for name in ("__len__", "__iter__", "__array__", "__arrow_c_stream__"))


def did_you_mean(name: str, known: Iterable[Any]) -> str:
    """Return a question for an error about a name that is not known; nothing where none that is known resembles it.

    >>> did_you_mean("Wages", ["wages", "sex"])
    " (did you mean 'wages'?)"
    """
    alike = {other.casefold(): other for other in known if isinstance(other, str)}
    near = get_close_matches(name.casefold(), alike, n=1)
    return f" (did you mean {alike[near[0]]!r}?)" if near else ""


class ArithmeticWarning(UserWarning):
    """A fit runs in floating point, where the guarantee holds in the real-number model only."""


class NotPrivateWarning(UserWarning):
    """What was asked for is computed from the data itself, without noise and without a charge."""


class WeakGuaranteeWarning(UserWarning):
    """The guarantee of a fit holds, but promises little: its delta is too large for the number of rows."""


class LedgerWarning(UserWarning):
    """A budget ledger is right in what it counts, but lacks something that should have been written to it."""


class InferenceWarning(UserWarning):
    """Intervals were asked for that the released values do not support."""
