"""Reports checked by computing them again: what a report says was spent must follow from the releases that it lists.

This finds errors and careless changes. Who changes releases and costs together, consistently, is found only where the
fit was charged to a ledger: pass it, and the entry that the report names must be in it, count, and have the report's
releases. An entry is named by its hash, so that no other fit has it, unless someone copies it into another report: one
entry pays for one result. That the cost is right does not make a fit private: whether it was, as configured, is a
finding of its own.
"""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .errors import ModelFileError
from .ledger import BudgetLedger, Entry
from .privacy import Neighbours, OpaqueRelease, epsilon_of
from .privacy.certificate import certified_delta
from .report import PrivacyReport
from .storage.model_file import FORMAT, read_with_checksum

_IN_A_PAGE = re.compile(r'<script type="application/json" id="privacy-report">(.*?)</script>', re.DOTALL)
_ROUNDING = 1e-6  # relative; versions of libraries differ in less


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, and what differs if something does; or whether the fit is private as configured."""

    what: str
    holds: bool
    detail: str
    about: Literal["accounting", "privacy"] = "accounting"


def verify_file(path: str | os.PathLike[str], *, ledger: BudgetLedger | None = None) -> tuple[Finding, ...]:
    """Check a model file, or a report that was saved as JSON or as an HTML page.

    ModelFileError is raised where the file is neither, or lacks what a report needs.
    """
    document = _document(path)
    if document.get("format") != FORMAT:
        return verify_report(document, ledger=ledger)
    content, intact = read_with_checksum(path)
    if not isinstance(content.get("report"), dict):
        raise ModelFileError(f"{str(path)!r} has no privacy report.")
    findings = verify_report(content["report"], ledger=ledger)
    detail = "matches" if intact else "does not match: the file was changed after it was written"
    return (Finding("checksum of the file", intact, detail), _coefficients(content), *findings)


def verify_report(data: dict[str, Any], *, ledger: BudgetLedger | None = None) -> tuple[Finding, ...]:
    """Check a report, as `PrivacyReport.to_dict` gives it, against its own releases and, if given, a ledger."""
    report = PrivacyReport.from_dict(data)
    findings = [_fields(report, data), *_cost(report)]
    if ledger is not None:
        findings.append(_charged(report, ledger))
    detail = "yes: no seed, and no bounds read from the data" if report.alarm is None else report.alarm
    return (*findings, Finding("private as configured", report.private, detail, about="privacy"))


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
        page = _IN_A_PAGE.search(text)
        document = json.loads(text if page is None else page.group(1))
    except OSError as error:
        raise ModelFileError(f"cannot read {str(path)!r}: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"{str(path)!r} is neither a report nor a model file: it is not valid JSON.") from None
    if not isinstance(document, dict):
        raise ModelFileError(f"{str(path)!r} is neither a report nor a model file.")
    return document


def _fields(report: PrivacyReport, data: dict[str, Any]) -> Finding:
    """Compare with what the report itself would write, which has derived fields such as ``private``."""
    written = json.loads(report.to_json())
    names = {*written, *data}
    differing = sorted(name for name in names if written.get(name) != data.get(name))
    detail = f"{', '.join(differing)} differ from what follows from the rest" if differing else "consistent"
    return Finding("fields of the report", not differing, detail)


def _cost(report: PrivacyReport) -> Iterator[Finding]:
    asked, relation = report.asked, Neighbours.of(report.relation)
    epsilon = epsilon_of(report.releases, asked.delta, relation=relation)
    stated = report.spent_epsilon
    if report.staged:
        # The stages' budgets are not in the report; what was recorded, fixed in advance, would cost no more than they.
        holds, how = epsilon <= stated * (1.0 + _ROUNDING), "at most, for releases that were planned in stages"
    else:
        holds, how = math.isclose(epsilon, stated, rel_tol=_ROUNDING, abs_tol=1e-300), "from the listed releases"
    yield Finding("epsilon spent", holds, f"{stated:.6g} in the report, {epsilon:.6g} {how}")
    within = stated <= asked.epsilon * (1.0 + _ROUNDING)
    yield Finding("epsilon within what was asked", within, f"{stated:.6g} of {asked.epsilon:.6g}")
    if (report.arithmetic == "exact") != (report.certified_delta is not None):
        yield Finding("certified delta", False, f"does not belong to arithmetic {report.arithmetic!r}, or is missing")
    elif report.certified_delta is not None:
        yield _certificate(report, relation)


def _certificate(report: PrivacyReport, relation: Neighbours) -> Finding:
    stated, asked = report.certified_delta, report.asked
    assert stated is not None
    proved = certified_delta(report.releases, asked.epsilon, relation=relation)
    same = proved <= stated if report.staged else math.isclose(proved, stated, rel_tol=_ROUNDING)
    detail = f"{stated:.6g} in the report, {proved:.6g} proved anew in ball arithmetic, {asked.delta:.6g} asked for"
    return Finding("certified delta", same and stated <= asked.delta, detail)


def _coefficients(content: dict[str, Any]) -> Finding:
    """Compare the coefficients by which a model predicts with those in its report."""
    try:
        model = [*content["coef"], content["intercept"]]
        listed = [line["value"] for line in content["report"]["coefficients"]]
    except (KeyError, TypeError):
        raise ModelFileError("the model file lacks coefficients.") from None
    # Without an intercept the report lists one coefficient less.
    same = model[: len(listed)] == listed and not any(model[len(listed) :])
    return Finding("coefficients", same, "those of the report" if same else "differ from those of the report")


def _charged(report: PrivacyReport, ledger: BudgetLedger) -> Finding:
    """Look for the entry that a report names; equal releases alone do not tell whether this fit was charged."""
    what, named, where = "charged to the ledger", report.ledger_entry, str(ledger.path)
    entries = ledger.entries()
    if named is None:
        equal = [str(entry.number) for entry in entries if entry.status != "void" and _pays_for(entry, report)]
        others = f"; row {', '.join(equal)} has equal releases, which may be those of other fits" if equal else ""
        return Finding(what, False, f"the report names no entry, so nothing shows that this fit was charged{others}")
    found = next((entry for entry in entries if entry.identity == named), None)
    if found is None:
        return Finding(what, False, f"{where!r} has no entry {named}, which the report names")
    if found.status == "void":
        return Finding(what, False, f"row {found.number}, which the report names, is void")
    if not _pays_for(found, report):
        return Finding(what, False, f"row {found.number}, which the report names, has other releases")
    return Finding(what, True, f"row {found.number}, by its hash; it pays for one result")


def _pays_for(entry: Entry, report: PrivacyReport) -> bool:
    """Whether an entry has the releases of a report or, where these were planned in stages, the stages' budgets."""
    if not report.staged:
        return Counter(entry.releases) == Counter(report.releases)
    boxes = [release for release in entry.releases if isinstance(release, OpaqueRelease)]
    zero_out = report.asked.for_zero_out(Neighbours.of(report.relation))
    return bool(boxes) and math.isclose(sum(box.epsilon for box in boxes), zero_out.epsilon, rel_tol=_ROUNDING)
