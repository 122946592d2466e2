"""``dpols report``: a saved model's privacy report as a page to hand on."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ParameterError
from .console import out as console
from .output import check_output, write_text

if TYPE_CHECKING:
    from ..report import PrivacyReport

_FORMATS: dict[str, "Callable[[PrivacyReport], str]"] = {
    ".html": lambda report: report.to_html(),
    ".md": lambda report: report.to_markdown(),
    ".txt": lambda report: f"{report.to_text()}\n",
    ".json": lambda report: f"{report.to_json()}\n",
}


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help='Model file written by "dpols fit".')],
    out: Annotated[Path, typer.Option(help="File to write: .html, .md, .txt or .json, by its name.")],
) -> None:
    """Write the privacy report of a saved model, to be read, printed or handed on.

    An HTML page needs no other file. JSON is what "dpols verify" checks.
    """
    from ..estimators import load_any

    fitted = load_any(model)
    check_report(out, inputs=(model,), option="--out")
    write_text(out, [report_text(out, fitted.privacy_report_)])
    console.print(f"Report saved to {out}", soft_wrap=True)


def check_report(path: Path, *, inputs: Iterable[Path], option: str = "--report") -> None:
    """Make sure that a report can be written under this name."""
    if path.suffix.lower() not in _FORMATS:
        raise ParameterError(f"{option} {str(path)!r} must end in {', '.join(_FORMATS)}, which says what to write.")
    if path in inputs:
        raise ParameterError(f"{option} {str(path)!r} would overwrite another file of this command; choose another.")
    check_output(path, inputs=inputs, option=option)


def report_text(path: Path, report: "PrivacyReport") -> str:
    """Return a report in the format that the name of its file says."""
    return _FORMATS[path.suffix.lower()](report)
