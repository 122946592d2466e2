"""Numbers with names for their rows and columns: data frames where pandas is installed, else small tables."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from ..report.text import aligned
from ..seen_text import visible

Array = np.ndarray[Any, np.dtype[Any]]

HIDDEN_WORDS = "hidden by the noise"
WIDTH = 80
_NUMBER = 10


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix with named columns, or a vector, whose rows have names. It is what pandas' frames and series stand for.

    ``table["lower"]`` is a column, ``vector["age"]`` a value, and ``numpy.asarray`` gives the numbers.
    """

    values: Array
    index: Sequence[Any]
    columns: Sequence[str] | None = None
    warning: str | None = None  # such as that a fit is not private

    def framed(self) -> Any:
        """Return a pandas frame or series, with the warning in its ``attrs``; without pandas the table itself."""
        try:
            import pandas
        except ImportError:
            return self
        if self.columns is None:
            found = pandas.Series(self.values, index=list(self.index))
        else:
            found = pandas.DataFrame(self.values, index=list(self.index), columns=list(self.columns))
        return with_warning(found, self.warning)

    def to_numpy(self) -> Array:
        """Return the numbers."""
        return self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype) if copy is not False else np.asarray(self.values, dtype=dtype)

    def __getitem__(self, name: Any) -> Any:
        names = list(self.index) if self.columns is None else list(self.columns)
        if name not in names:
            raise KeyError(name)
        place = names.index(name)
        return self.values[place] if self.columns is None else self.values[:, place]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values if self.columns is None else self.columns)

    def __repr__(self) -> str:
        values = self.values[:, None] if self.columns is None else self.values
        rows = [("", *(self.columns or ("",)))]
        rows += [(visible(str(name)), *map(number, row)) for name, row in zip(self.index, values.tolist(), strict=True)]
        lines = [line.rstrip() for line in aligned([(*row, "") for row in rows], right=range(1, len(rows[0])))]
        return "\n".join([*([self.warning] if self.warning else []), *lines])


def frame_of(values: Any, index: Sequence[Any], columns: Sequence[str]) -> Any:
    """Return a pandas data frame, or say which extra to install."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "tables") from None
    return pandas.DataFrame(np.array(values, dtype=np.float64), index=list(index), columns=list(columns))


def with_warning(frame: Any, warning: str | None) -> Any:
    """Say in a frame's ``attrs`` what stands above a summary, such as that a fit is not private."""
    if warning:
        frame.attrs["warning"] = warning
    return frame


def number(value: float | None, width: int = _NUMBER) -> str:
    """Return a number in fewer characters than ``width``, empty where there is none."""
    if value is None or np.isnan(value):
        return ""
    return next((text for digits in (5, 4, 3, 2) if len(text := f"{value:.{digits}g}") < width), f"{value:.1g}")


def as_lines(
    title: str, heads: Sequence[str], names: Sequence[str], numbers: Array, warning: str | None = None
) -> list[str]:
    """Return rows of numbers under headings in at most 80 columns, with words in place of what the noise hides."""
    room = WIDTH - _NUMBER * len(heads)
    lines = [
        *textwrap.wrap(warning or "", WIDTH),
        title.center(WIDTH).rstrip(),
        "=" * WIDTH,
        " " * room + "".join(f"{head:>{_NUMBER}}" for head in heads),
    ]
    lines.append("-" * WIDTH)
    for name, row in zip(map(visible, names), numbers.tolist(), strict=True):
        cells = [number(value) for value in row]
        shown = "".join(f"{cell:>{_NUMBER}}" for cell in cells) if all(cells) else f"  {HIDDEN_WORDS}"
        if len(name) >= room:  # on lines of its own: cut names could not be told apart
            lines += textwrap.wrap(name, WIDTH)
            name = ""
        lines.append(f"{name:<{room}}{shown}")
    return [*lines, "=" * WIDTH]
