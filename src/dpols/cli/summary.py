"""``dpols summary``: a saved model's coefficients with their standard errors and intervals."""

import json as json_format
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import ParameterError
from ..seen_text import visible
from . import options as given
from .console import out as console
from .output import check_output, write_text

if TYPE_CHECKING:
    from ..inference.summary import Summary


_FORMATS: dict[str, "Callable[[Summary], str]"] = {
    ".html": lambda summary: summary.to_page(),
    ".tex": lambda summary: summary.as_latex(),
    ".txt": lambda summary: f"{summary}\n",
    ".json": lambda summary: f"{_json(summary)}\n",
}


def summary(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help='Model file written by "dpols fit --inference".')],
    alpha: Annotated[float, typer.Option(help="One minus the level of the intervals.")] = 0.05,
    target: Annotated[
        Literal["population", "data"],
        typer.Option(help="What intervals are for: the population, or the non-private fit to the data itself."),
    ] = "population",
    out: Annotated[Path | None, typer.Option(help="File to write: .html, .tex, .txt or .json, by its name.")] = None,
    json: given.Json = False,
) -> None:
    """Show coefficients with standard errors and intervals, or why there are none. It costs no budget."""
    from ..estimators import load_any

    if not 0.0 < alpha < 1.0:
        raise ParameterError(f"--alpha {alpha:g} must lie strictly between 0 and 1; 0.05 gives 95% intervals.")
    fitted = load_any(model)
    found = fitted.summary(alpha, target=target)
    if out is not None:
        if out.suffix.lower() not in _FORMATS:
            raise ParameterError(f"--out {str(out)!r} must end in {', '.join(_FORMATS)}, which says what to write.")
        check_output(out, inputs=(model,))
        write_text(out, [_FORMATS[out.suffix.lower()](found)])
    if json:
        typer.echo(_json(found))
    elif out is None:
        typer.echo(visible(str(found), keep="\n"))
    else:
        console.print(f"Summary saved to {out}", soft_wrap=True)


def _json(summary: "Summary") -> str:
    return json_format.dumps(summary.to_dict(), indent=2, allow_nan=False)
