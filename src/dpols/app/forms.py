"""What is typed into forms, read with care; every mistake on a page is said at once, beside its field."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import DpolsError


class FormError(DpolsError, ValueError):
    """Mistakes in a form: pairs of the field's id, or nothing, and what to do."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__(" ".join(text for _, text in problems))
        self.problems = problems


@dataclass
class Reader:
    """Reads fields one by one and keeps what is wrong with them."""

    fields: Mapping[str, str]
    problems: list[tuple[str, str]] = field(default_factory=list)

    def text(self, name: str) -> str:
        """Return what was typed, without space around it."""
        return str(self.fields.get(name, "")).strip()

    def wrong(self, name: str, problem: str) -> None:
        """Keep a problem."""
        self.problems.append((name, problem))

    def required(self, name: str, problem: str) -> str:
        """Return what was typed, which must not be nothing."""
        value = self.text(name)
        if not value:
            self.wrong(name, problem)
        return value

    def number(self, name: str, what: str, *, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number within limits."""
        value = number_in(self.text(name))
        if value is None:
            self.wrong(name, f"{what} must be a number, such as 12.5 with a point; {_typed(self.text(name))}.")
            return math.nan
        if not low <= value <= high:
            self.wrong(name, f"{what} must lie between {low:g} and {high:g}; {_typed(self.text(name))}.")
        return value

    def whole(self, name: str, what: str, *, high: int = 10**12) -> int:
        """Return a positive whole number; thousands may be set apart."""
        digits = self.text(name).replace(",", "").replace("\u202f", "").replace(" ", "").replace("_", "")
        if not digits.isdecimal() or not 1 <= int(digits[:20]) <= high:
            self.wrong(name, f"{what} must be a whole number from 1, such as 5000; {_typed(self.text(name))}.")
            return 1
        return int(digits)

    def done(self) -> None:
        """Raise what is wrong, if anything is."""
        if self.problems:
            raise FormError(*self.problems)


def number_in(text: str) -> float | None:
    """Return the number that a text is, None where it is none.

    >>> number_in("1e3"), number_in("12,5"), number_in("nan")
    (1000.0, None, None)
    """
    try:
        value = float(text.replace("_", "x").replace("\u2212", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _typed(text: str) -> str:
    return f"{text[:40]!r} was typed" if text else "nothing was typed"
