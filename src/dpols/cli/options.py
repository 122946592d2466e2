"""Options that several commands share, and how their text becomes values."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from ..errors import ParameterError

if TYPE_CHECKING:
    from ..privacy import PrivacyBudget


Accounting = Literal["exact", "paper"]
Neighbours = Literal["zero-out", "replace-one", "add-remove"]
DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table to read: a .csv, .tsv, .csv.gz, .csv.zst, .parquet, .feather, .arrow, .npy, .xlsx or .dta file, or "
        "a folder of files of one kind.",
    ),
]
_text_option = partial(typer.Option, rich_help_panel="Text files")
Separator = Annotated[
    str | None,
    _text_option(help="What separates values: , ; | or tab. By default the header shows it.", show_default=False),
]
Decimal = Annotated[
    str | None,
    _text_option(help="Decimal mark: . or a comma. By default a comma where semicolons separate, else a point."),
]
Encoding = Annotated[
    str | None,
    _text_option(help="Encoding, such as latin-1. By default each text is UTF-8 or else Windows-1252."),
]
Target = Annotated[str, typer.Option(help="Name of the column to predict.")]
Rows = Annotated[int, typer.Option(min=1, help="Number of rows of the data, which is public.")]
RowsIfPublic = Annotated[
    int | None, typer.Option(min=1, help="Number of rows of the data; not needed with --neighbours add-remove.")
]
Features = Annotated[int, typer.Option(min=1, help="Number of features, without the intercept.")]
Epsilon = Annotated[
    float, typer.Option(help="Privacy loss allowed: smaller is more private. Typical values lie between 0.1 and 10.")
]
Delta = Annotated[
    str,
    typer.Option(
        help="Probability that the privacy loss exceeds epsilon. Choose it far below 1 / rows; '1/n^2' computes it "
        "from the number of rows."
    ),
]


def method_names() -> list[str]:
    """Return the algorithms, for completion in a shell."""
    from ..algorithms import ALGORITHMS

    return list(ALGORITHMS)


Method = Annotated[str, typer.Option(help="Algorithm.", autocompletion=method_names)]
AccountingOption = Annotated[
    Accounting, typer.Option(help="How the noise is calibrated: jointly and exactly, or as published.")
]
NeighboursOption = Annotated[
    Neighbours,
    typer.Option(
        help="How neighbouring data sets differ: a row becomes zeros, or any other row, or is added or removed. With "
        "add-remove the number of rows is not public, and delta must be a number."
    ),
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Fit no intercept.")]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Option of the method, such as n_iterations=9. Repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def parsed_delta(text: str, epsilon: float) -> float | str:
    """Return delta as a number or a rule, after checking the budget as far as the number of rows does not matter."""
    from ..privacy.budget import budget_for

    try:
        delta: float | str = float(text)
    except ValueError:
        delta = text
    budget_for(epsilon, delta, 1000)
    return delta


def parsed_budget(epsilon: float, delta: str, rows: int | None) -> "PrivacyBudget":
    """Return the budget for a table of that many rows, or of a number that is not public."""
    from ..privacy.budget import budget_for

    return budget_for(epsilon, parsed_delta(delta, epsilon), rows)


def in_use(method: str, *, inference: bool) -> str:
    """Return the method that fits: with inference, the one that has intervals."""
    from ..algorithms import with_intervals

    return with_intervals(method) if inference else method


def parsed_options(method: str, pairs: list[str] | None) -> dict[str, Any]:
    """Return options of a method from texts NAME=VALUE, each with a value of the right type.

    >>> parsed_options("ihm", ["n_iterations=5", "ridge=true", "eigenvalue=off"])
    {'n_iterations': 5, 'ridge': True, 'eigenvalue': 'off'}
    """
    from ..algorithms import algorithm

    types = get_type_hints(algorithm(method).plan_for)
    names = [name for name in types if name not in ("given", "return")]
    options: dict[str, Any] = {}
    for pair in pairs or ():
        name, _, text = pair.partition("=")
        if not text:
            raise ParameterError(f"--option {pair!r} must have the form NAME=VALUE, such as n_iterations=9.")
        if name not in names:
            raise ParameterError(f"--option {pair!r}: {method} has no option {name!r}; it has {', '.join(names)}.")
        if name in options:
            raise ParameterError(f"--option {name!r} is given twice; give it once.")
        options[name] = _value(text)
        if not _is_a(options[name], types[name]):
            kind = getattr(types[name], "__name__", types[name])
            raise ParameterError(f"--option {pair!r} has a value of the wrong type; {name} is of type {kind}.")
    return options


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is_a(value: Any, kind: Any) -> bool:
    try:
        return isinstance(value, kind) or (isinstance(value, int) and isinstance(1.0, kind))
    except TypeError:  # a choice of words, which the plan itself checks
        return True


def split_list(option: str, text: str) -> tuple[str, ...]:
    """Return the parts of a comma-separated list, each once."""
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise ParameterError(f"{option} {text!r} names nothing; give a comma-separated list.")
    return parts


def numbers(option: str, text: str) -> Iterator[float]:
    """Return the numbers of a comma-separated list."""
    for part in split_list(option, text):
        try:
            yield float(part)
        except ValueError:
            raise ParameterError(f"{option}: {part!r} is not a number; give a comma-separated list.") from None
