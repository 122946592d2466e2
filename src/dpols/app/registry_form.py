"""The form for an entry in the registry of deployments: what only the user knows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..report.registry import QUESTIONS
from .forms import FormError

FIELDS = [
    {"id": name, "asked": question.asked, "choices": question.choices, "long": not question.choices}
    for name, question in QUESTIONS.items()
]


def filled(report: Any, fields: Mapping[str, str], ledger: Path) -> str:
    """Return the entry, or say what is missing, field by field."""
    from ..ledger import BudgetLedger

    missing = [(name, f"{q.asked} No answer is given, and none is made up.") for name, q in QUESTIONS.items()
               if not str(fields.get(name, "")).strip()]  # fmt: skip
    if missing:
        raise FormError(*missing)
    answers = {name: str(fields[name]) for name in QUESTIONS}
    try:
        return str(report.to_registry_yaml(answers, ledger=BudgetLedger(ledger)))
    except ParameterError as error:
        field = str(error).partition("=")[0]
        raise FormError((field if field in QUESTIONS else "", str(error))) from None
