"""``dpols registry``: an entry for the public registry of deployments, which asks for what only the user knows."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ParameterError
from .console import out as console
from .output import check_output, write_text


def registry(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help='Model file written by "dpols fit".')],
    out: Annotated[
        Path, typer.Option(help="File to write: .yaml for the entry, or .toml for its questions, to be answered.")
    ],
    answers: Annotated[
        Path | None, typer.Option(metavar="TOML", help="File with the questions answered, for the entry.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ledger that the fit was charged to, if it was to any.")
    ] = None,
) -> None:
    """Write an entry for the public registry of differential privacy deployments.

    What the fit knows is filled in: cost, releases, neighbours, unit, arithmetic. What only you know is asked for in a
    file to fill in, which "--out questions.toml" writes, and is never made up. A fit on a ledger with several charges
    states what all of them cost together.
    """
    from ..estimators import load_any
    from ..ledger import BudgetLedger

    report = load_any(model).privacy_report_
    inputs = [path for path in (model, answers, ledger) if path is not None]
    check_output(out, inputs=inputs)
    if out.suffix.lower() == ".toml":
        if answers is not None or out.exists():
            raise ParameterError(f"--out {str(out)!r} is for new questions; leave out --answers, and name a new file.")
        write_text(out, [_questions()])
        console.print(f"Answer the questions in {out}, then: dpols registry {model} --answers {out} --out entry.yaml")
        return
    if out.suffix.lower() not in (".yaml", ".yml"):
        raise ParameterError(f"--out {str(out)!r} must end in .yaml (the entry) or .toml (its questions).")
    if answers is None:
        raise ParameterError("--answers is missing: write its questions by --out questions.toml, and answer them.")
    given = _read(answers)
    write_text(out, [report.to_registry_yaml(given, ledger=None if ledger is None else BudgetLedger(ledger))])
    console.print(f"Entry saved to {out}", soft_wrap=True)


def _questions() -> str:
    from ..report.registry import QUESTIONS

    parts = []
    for name, question in QUESTIONS.items():
        choices = f"\n# One of: {', '.join(question.choices)}" if question.choices else ""
        parts.append(f'# {question.asked}{choices}\n{name} = ""\n')
    return "\n".join(parts)


def _read(path: Path) -> dict[str, str]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ParameterError(f"--answers {str(path)!r} is not valid TOML: {error}.") from None
    wrong = [name for name, value in found.items() if not isinstance(value, str)]
    if wrong:
        raise ParameterError(f"--answers {str(path)!r}: {wrong[0]} must be a text in quotes.")
    return found
