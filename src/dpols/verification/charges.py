"""A report against a ledger: the entry that it names must be there, count, and be of this report."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

from ..ledger import BudgetLedger, Entry
from ..privacy import Neighbours, OpaqueRelease
from ..privacy.cautions import NOT_PRIVATE
from ..report import PrivacyReport
from ..report.charge import charge_of_fit
from .finding import ROUNDING, Finding, other_version

_WHAT = "charged to the ledger"


def charged(report: PrivacyReport, digest: str, ledger: BudgetLedger) -> Finding:
    """Look for the entry that a report names; equal releases alone do not tell whether this fit was charged."""
    what, found = _WHAT, _named(report.ledger_entry, ledger)
    if report.ledger_entry is None and isinstance(found, Finding):
        entries = ledger.entries()
        equal = [str(entry.number) for entry in entries if entry.status != "void" and _pays_for(entry, report)]
        others = f"; row {', '.join(equal)} has equal releases, which may be those of other fits" if equal else ""
        return replace(found, detail=f"{found.detail}{others}")
    if isinstance(found, Finding):
        return found
    if report.private and NOT_PRIVATE in found.what:
        return Finding(what, False, f"row {found.number}, which the report names, says that the fit is {NOT_PRIVATE}")
    if not _pays_for(found, report):
        return Finding(what, False, f"row {found.number}, which the report names, has other releases")
    if found.what != (expected := _charge_of(report)):
        detail = f"row {found.number}, which the report names, is for {found.what!r}, and the report for {expected!r}"
        # Another version may say the same in other words, of a report that is as it was written.
        told = found.report == digest and other_version(report.to_dict()) is not None
        return Finding(what, False, detail, about="unchecked" if told else "accounting")
    return _hashed(found, digest)


def charged_unread(data: dict[str, Any], digest: str, ledger: BudgetLedger) -> Finding:
    """Look for the entry that a report names whose other fields are those of another version."""
    found = _named(data.get("ledger_entry"), ledger)
    return found if isinstance(found, Finding) else _hashed(found, digest)


def _named(named: Any, ledger: BudgetLedger) -> Entry | Finding:
    """Return the entry of a ledger that a report names, or why none counts."""
    if named is None:
        return Finding(_WHAT, False, "the report names no entry, so nothing shows that this fit was charged")
    found = next((entry for entry in ledger.entries() if entry.identity == named), None)
    if found is None:
        return Finding(_WHAT, False, f"{str(ledger.path)!r} has no entry {named}, which the report names")
    if found.status == "void":
        return Finding(_WHAT, False, f"row {found.number}, which the report names, is void")
    return found


def _hashed(found: Entry, digest: str) -> Finding:
    """Compare the hash of a report with that which its entry keeps."""
    if found.report == digest:
        return Finding(_WHAT, True, f"row {found.number}, which has the hash of this report")
    detail = f"row {found.number}, which the report names, has the hash of another report: this one was changed"
    return Finding(_WHAT, False, detail if found.report else f"row {found.number} has no hash of a report")


def _charge_of(report: PrivacyReport) -> str:
    """Return what the ledger says of a fit that is as its report says."""
    return charge_of_fit(
        report.method,
        report.asked,
        report.relation,
        unit=report.unit,
        rows_per_unit=report.rows_per_unit,
        seeded=report.seeded,
        bounds_origin=report.bounds_origin,
        void=report.void,
    )


def _pays_for(entry: Entry, report: PrivacyReport) -> bool:
    """Whether an entry has the releases of a report or, where these were planned in stages, the stages' budgets."""
    if not report.staged:
        return Counter(entry.releases) == Counter(report.releases)
    boxes = [release for release in entry.releases if isinstance(release, OpaqueRelease)]
    zero_out = report.asked.for_zero_out(Neighbours.of(report.relation))
    return bool(boxes) and math.isclose(sum(box.epsilon for box in boxes), zero_out.epsilon, rel_tol=ROUNDING)
