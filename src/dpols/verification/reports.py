"""A report against its own releases: fields, number of rows, cost and certificate."""

import json
import math
from collections.abc import Iterator
from typing import Any

from ..algorithms import ALGORITHMS, GENERALISED
from ..algorithms.whitening import TOTALS_NAME, noise_of_totals
from ..errors import ModelFileError
from ..fitting.describing import EXPOSURE_IS_PUBLIC, WEIGHTS_ARE_PUBLIC
from ..ledger import BudgetLedger
from ..privacy import GaussianRelease, Neighbours, epsilon_of
from ..privacy.certificate import certified_delta
from ..report import PrivacyReport
from ..report.basis import digest_of
from .charges import charged, charged_unread
from .finding import ROUNDING, Finding, other_version, unreadable


def verify_report(data: dict[str, Any], *, ledger: BudgetLedger | None = None) -> tuple[Finding, ...]:
    """Check a report, as `PrivacyReport.to_dict` gives it, against its own releases and, if given, a ledger."""
    try:
        report = PrivacyReport.from_dict(data)
    except ModelFileError:
        if (other := other_version(data)) is None:
            raise
        said = Finding("private as configured", data.get("private") is True, "only as the report says", about="privacy")
        unread = Finding("fields of the report", False, unreadable(other), about="unchecked")
        return (unread, *(() if ledger is None else (charged_unread(data, digest_of(data), ledger),)), said)
    findings = [_fields(report, data), _row_count(report, data), _unit(report), *_cost(report)]
    if ledger is not None:
        findings.append(charged(report, digest_of(data), ledger))
    # Another version may know reasons that this one does not.
    private = report.private and data.get("private") is True
    seen = "yes: no seed, no bounds read from the data, and no step seen that voids it"
    detail = report.alarm or (seen if private else "the report says that it is not")
    return (*findings, Finding("private as configured", private, detail, about="privacy"))


def _fields(report: PrivacyReport, data: dict[str, Any]) -> Finding:
    """Compare with what the report itself would write, derived fields such as ``private`` and its method included."""
    written = json.loads(report.to_json()) | _of_the_method(report.method) | {"n_features": len(report.coefficients)}
    names = {*written, *data}
    differing = sorted(name for name in names if written.get(name) != data.get(name))
    other = other_version(data)
    if differing and other is not None:
        return Finding("fields of the report", False, unreadable(other), about="unchecked")
    detail = f"{', '.join(differing)} differ from what follows from the rest" if differing else "consistent"
    return Finding("fields of the report", not differing, detail)


def _of_the_method(name: str) -> dict[str, Any]:
    """Return what every report of a method says of it; nothing is right of one that there is not."""
    method = (ALGORITHMS | GENERALISED).get(name)
    if method is None:
        return {"method": None}
    return {"title": method.title, "reference": method.reference, "staged": method.staged}


def _row_count(report: PrivacyReport, data: dict[str, Any]) -> Finding:
    """Compare what is said of the number of rows with the relation, and its noise with the release that counts them."""
    what, problem = "number of rows", _contradiction_on_rows(report)
    if problem is None:
        return Finding(what, True, f"stated as {report.relation!r} neighbours allow")
    if (other := other_version(data)) is not None:
        return Finding(what, False, unreadable(other), about="unchecked")
    return Finding(what, False, problem)


def _contradiction_on_rows(report: PrivacyReport) -> str | None:
    return _contradiction_on_all(report) or _contradiction_on_used(report)


def _contradiction_on_used(report: PrivacyReport) -> str | None:
    used, noise = report.rows_used, report.rows_used_noise
    stated = f"rows_used={used} and rows_used_noise={noise}"
    if not Neighbours.of(report.relation).rows_are_public:
        same = (used, noise) == (report.n_rows, report.n_rows_noise)
        return None if same else f"{stated} differ from what the report says of the number of rows"
    weighted = WEIGHTS_ARE_PUBLIC in report.assumed_public
    if report.bad_rows == "raise" and report.unit is None and not weighted:
        same = (used, noise) == (report.n_rows, None)
        return None if same else f"{stated}, while every row is in use with bad_rows='raise', no units and no weights"
    if used is None or noise is None:
        return None if used is noise else f"{stated}, and a number of rows in use is stated with noise or not at all"
    if not (0 <= used <= (report.n_rows or 0) and 0.0 < noise < math.inf):
        return f"{stated}, of {report.n_rows} rows"
    expected = _noise_of_row_count(report)
    if expected is None or math.isclose(noise, expected, rel_tol=ROUNDING):
        return None
    return f"rows_used_noise={noise}, and {expected:.6g} follows from the release of the {TOTALS_NAME}"


def _contradiction_on_all(report: PrivacyReport) -> str | None:
    n_rows, noise, under = report.n_rows, report.n_rows_noise, f"with relation={report.relation!r}"
    assumed = any(item.startswith("the number of rows") for item in report.assumed_public)
    if Neighbours.of(report.relation).rows_are_public:
        if n_rows is None or noise is not None:
            return f"n_rows={n_rows} and n_rows_noise={noise} {under}, by which it is public and has no noise"
        return None if assumed else f"assumed_public does not list the number of rows, which is public {under}"
    if assumed:
        return f"assumed_public lists the number of rows, which is not public {under}"
    if (n_rows is None) != (noise is None) or (noise is not None and not 0.0 < noise < math.inf):
        return f"n_rows={n_rows} and n_rows_noise={noise} {under}, by which it is stated with noise or not at all"
    expected = _noise_of_row_count(report)
    if expected is None or (noise is not None and math.isclose(noise, expected, rel_tol=ROUNDING)):
        return None
    return f"n_rows_noise={noise}, and {expected:.6g} follows from the release of the {TOTALS_NAME}"


def _noise_of_row_count(report: PrivacyReport) -> float | None:
    """Return the noise of the number of rows where it follows from a multiplier alone; methods with sketches differ."""
    found = next((line.release for line in report.lines if line.what == TOTALS_NAME), None)
    if not isinstance(found, GaussianRelease):
        return None
    one_more = WEIGHTS_ARE_PUBLIC in report.assumed_public or EXPOSURE_IS_PUBLIC in report.assumed_public
    return report.rows_per_unit * noise_of_totals(found.multiplier, one_more=one_more)


def _unit(report: PrivacyReport) -> Finding:
    """Compare how many rows of a unit are protected together with whether there are units."""
    holds = report.unit is not None or report.rows_per_unit == 1
    whose = "row" if report.unit is None else f"unit {report.unit!r}"
    return Finding("rows protected together", holds, f"{report.rows_per_unit} for each {whose}")


def _cost(report: PrivacyReport) -> Iterator[Finding]:
    asked, relation = report.asked, Neighbours.of(report.relation)
    epsilon = epsilon_of(report.releases, asked.delta, relation=relation)
    stated = report.spent_epsilon
    if report.staged:
        # The stages' budgets are not in the report; what was recorded, fixed in advance, would cost no more than they.
        holds, how = epsilon <= stated * (1.0 + ROUNDING), "at most, for releases that were planned in stages"
    else:
        holds, how = math.isclose(epsilon, stated, rel_tol=ROUNDING, abs_tol=1e-300), "from the listed releases"
    yield Finding("epsilon spent", holds, f"{stated:.6g} in the report, {epsilon:.6g} {how}")
    within = stated <= asked.epsilon * (1.0 + ROUNDING)
    yield Finding("epsilon within what was asked", within, f"{stated:.6g} of {asked.epsilon:.6g}")
    if (report.arithmetic == "exact") != (report.certified_delta is not None):
        yield Finding("certified delta", False, f"does not belong to arithmetic {report.arithmetic!r}, or is missing")
    elif report.certified_delta is not None:
        yield _certificate(report, relation)


def _certificate(report: PrivacyReport, relation: Neighbours) -> Finding:
    stated, asked = report.certified_delta, report.asked
    assert stated is not None
    proved = certified_delta(report.releases, asked.epsilon, relation=relation)
    same = proved <= stated if report.staged else math.isclose(proved, stated, rel_tol=ROUNDING)
    detail = f"{stated:.6g} in the report, {proved:.6g} proved anew in interval arithmetic, {asked.delta:.6g} asked for"
    return Finding("certified delta", same and stated <= asked.delta, detail)
