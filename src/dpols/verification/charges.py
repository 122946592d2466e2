"""A report against a ledger: the entry that it names must be there, count, and be of this report."""

import math
from collections import Counter

from ..ledger import BudgetLedger, Entry
from ..privacy import Neighbours, OpaqueRelease
from ..privacy.cautions import NOT_PRIVATE
from ..report import PrivacyReport
from ..report.charge import charge_of_fit
from .finding import ROUNDING, Finding, other_version


def charged(report: PrivacyReport, digest: str, ledger: BudgetLedger) -> Finding:
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
    if report.private and NOT_PRIVATE in found.what:
        return Finding(what, False, f"row {found.number}, which the report names, says that the fit is {NOT_PRIVATE}")
    if not _pays_for(found, report):
        return Finding(what, False, f"row {found.number}, which the report names, has other releases")
    if found.what != (expected := _charge_of(report)):
        detail = f"row {found.number}, which the report names, is for {found.what!r}, and the report for {expected!r}"
        # Another version may say the same in other words.
        other = other_version(report.to_dict())
        return Finding(what, False, detail, about="accounting" if other is None else "unchecked")
    if found.report != digest:
        detail = f"row {found.number}, which the report names, has the hash of another report: this one was changed"
        return Finding(what, False, detail if found.report else f"row {found.number} has no hash of a report")
    return Finding(what, True, f"row {found.number}, which has the hash of this report")


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
