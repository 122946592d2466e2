"""An entry for the public registry of differential privacy deployments (opendp/deployments-registry-data), in YAML.

The fit knows its releases, cost, neighbours, unit, arithmetic and versions. What only the user knows is asked for, and
is never invented: an entry with an answer missing is refused.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError
from ..privacy.cautions import NOT_PRIVATE


@dataclass(frozen=True)
class Question:
    """What only the user knows: where it stands in an entry, how it is asked, and which answers there are."""

    part: str
    asked: str
    choices: tuple[str, ...] = ()
    several: bool = False  # answers with commas between them


QUESTIONS: dict[str, Question] = {
    "name": Question("basic", "What is the data product called?"),
    "data_curators": Question("basic", "Who publishes it? Several names have commas between them.", several=True),
    "description": Question("basic", "What is it, in a sentence?"),
    "intended_use": Question("basic", "What is it for?"),
    "data_product_type": Question(
        "basic", "What kind of product is it?", ("Machine learning model", "Summary statistics", "Dataset", "Other")
    ),
    "data_product_region": Question("basic", "Which region does the data describe?"),
    "data_product_sector": Question(
        "basic", "Which sector is it from?", ("Healthcare", "Government", "Education", "Finance", "Technology", "Other")
    ),
    "publication_date": Question("basic", "When was, or will, it be published (YYYY-MM-DD)?"),
    "model_name": Question("deployment_model", "Who is trusted with the rows?", ("Central", "Federated", "Shuffle")),
    "actors": Question("deployment_model", "Who sees the rows, who sees the product, and who is trusted with what?"),
    "release_type": Question("deployment_model", "Is it published once?", ("One release", "Many releases")),
    "data_source_type": Question("deployment_model", "Does new data come in?", ("Static", "Dynamic")),
    "access_type": Question(
        "deployment_model", "Can analysts put further questions to the rows?", ("Non-interactive", "Interactive")
    ),
    "preprocessing_and_hyperparameter_tuning": Question(
        "implementation", "What was done to the rows before the fit, and how were its settings chosen?"
    ),
    "justification": Question("implementation", "Why these epsilon and delta?"),
    "registry_authors": Question("administrative", "Who writes this entry?", several=True),
}


def to_registry_yaml(report: Any, answers: Mapping[str, str], ledger: Any = None) -> str:
    """Return an entry for the registry; ``ledger`` is the one that the fit was charged to, if it was to any."""
    given = _checked(answers)
    total = _total(report, ledger)
    parts: dict[str, dict[str, Any]] = {
        "basic": {},
        "dp_variant": _variant(report),
        "privacy_loss": _loss(report, total),
        "deployment_model": {},
        "implementation": {"mechanisms": _mechanisms(report), "composition": _composition(report, total)},
        "administrative": {"status": "Draft", "tier": 3},
    }
    for name, question in QUESTIONS.items():
        answer = given[name]
        parts[question.part][name] = _several(answer) if question.several else answer
    parts["basic"]["data_curators"] = [{"data_curator_name": name} for name in _several(given["data_curators"])]
    parts["implementation"]["post_processing"] = (
        "Coefficients, standard errors and this entry follow from the releases."
    )
    slug = re.sub(r"[^a-z0-9]+", "-", given["name"].lower()).strip("-") or "entry"
    warning = "" if report.alarm is None else f"# {_one_line(report.alarm)}\n"
    return f"{warning}{''.join(_lines({'url_slug': slug, 'deployment': parts}, 0))}"


@dataclass(frozen=True)
class Total:
    """What all releases of a ledger promise together."""

    epsilon: float
    delta: float
    charges: int


def _total(report: Any, ledger: Any) -> Total | None:
    """Return what a ledger with several charges promises; None where this fit is the only one."""
    if ledger is None:
        if report.ledger_entry is not None:
            raise ParameterError(
                "ledger is missing: the fit was charged to one, and others may have been, too. Give the ledger, so "
                "that the entry states what all of them cost together."
            )
        return None
    state = ledger.state()
    if report.ledger_entry not in [entry.identity for entry in state.counted]:
        raise ParameterError("ledger is not the one that this fit was charged to; give that one.")
    return Total(state.budget.epsilon, state.budget.delta, len(state.counted)) if len(state.counted) > 1 else None


def _checked(answers: Mapping[str, str]) -> dict[str, str]:
    given = {name: str(value).strip() for name, value in answers.items()}
    unknown = sorted(set(given) - set(QUESTIONS))
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is not asked for by the registry; it asks for {', '.join(QUESTIONS)}.")
    missing = [name for name in QUESTIONS if not given.get(name)]
    if missing:
        raise ParameterError(f"{', '.join(missing)}: no answer is given, and none is made up; answer all questions.")
    for name, question in QUESTIONS.items():
        if question.choices and given[name] not in question.choices:
            raise ParameterError(f"{name}={given[name]!r} must be one of {', '.join(question.choices)}.")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", given["publication_date"]):
        raise ParameterError(f"publication_date={given['publication_date']!r} must be of the form YYYY-MM-DD.")
    return given


def _variant(report: Any) -> dict[str, Any]:
    name = "Approximate DP" if report.alarm is None else f"none: {NOT_PRIVATE}"
    return {
        "variant_name": name,
        "data_domain": f"A table of {report.rows_in_words}; every value is clipped to public bounds.",
        "unprotected_quantities": "; ".join(report.assumed_public),
        **({} if report.alarm is None else {"warning": report.alarm}),
    }


def _loss(report: Any, total: Total | None) -> dict[str, Any]:
    epsilon, delta = (report.asked.epsilon, report.asked.delta) if total is None else (total.epsilon, total.delta)
    words = " ".join(filter(None, (report.chosen, f"This fit: {report.asked_in_words}.")))
    if total is not None:
        words = f"For all {total.charges} charges of the ledger together, however they were chosen. {words}"
    return {
        "privacy_unit": "Row" if report.unit is None else f"{report.unit}, up to {report.rows_per_unit} rows",
        "privacy_unit_details": f"{report.relation_in_words}. Protected: {report.protects}.",
        "privacy_parameters": {"epsilon": epsilon, "delta": delta},
        "privacy_parameters_details": words if report.alarm is None else f"{report.alarm} {words}",
    }


def _mechanisms(report: Any) -> str:
    releases = "; ".join(f"{line.times} x {line.what}: {line.describe()}" for line in report.lines)
    versions = ", ".join(f"{name} {version}" for name, version in report.versions)
    return (
        f"{report.title} ({report.method}), dpols. Releases: {releases}. Arithmetic: {report.arithmetic_in_words}. "
        f"Bounds: {report.bounds_in_words}. Versions: {versions}."
    )


def _composition(report: Any, total: Total | None) -> str:
    words = f"{report.spent_in_words}; {report.certificate_in_words}."
    return words if total is None else f"{words} Across fits: a privacy filter over all charges of the ledger."


def _several(answer: str) -> list[str]:
    return [part.strip() for part in answer.split(",") if part.strip()]


def _lines(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Write nested mappings and lists; all texts are in quotes, so that none is taken for something else."""
    indent = "  " * depth
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield f"{indent}{name}:\n"
            yield from _lines(inner, depth + 1)
        elif isinstance(inner, list):
            yield f"{indent}{name}:\n"
            for item in inner:
                shown = ", ".join(f"{k}: {_scalar(v)}" for k, v in item.items()) if isinstance(item, Mapping) else None
                yield f"{indent}  - {_scalar(item) if shown is None else shown}\n"
        else:
            yield f"{indent}{name}: {_scalar(inner)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        text = repr(value)
        return text.replace("e", ".0e", 1) if "e" in text and "." not in text else text  # else YAML reads it as text
    if isinstance(value, int):
        return str(value)
    quoted = json.dumps(str(value).encode(errors="replace").decode(), ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _one_line(text: str) -> str:
    return " ".join(text.split())
