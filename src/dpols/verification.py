"""Reports checked by computing them again: what a report says was spent must follow from the releases that it lists.

This finds errors and careless changes. Who changes releases and costs together, consistently, is found only where the
fit was charged to a ledger: pass it, and the entry that the report names must be in it, count, and hold the hash of
the report as the fit wrote it. That the cost is right does not make a fit private: whether it was,
as configured, is a finding of its own.

Of a page, what a person reads must follow from the data that it holds: it is written anew and compared letter by
letter, so that no number, no hidden text and no style that hides something can be changed by itself. Another version
of dpols writes other fields and pages, so that these cannot be checked, which says nothing against them.
"""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from .algorithms import ALGORITHMS, GENERALISED
from .algorithms.whitening import TOTALS_NAME, noise_of_totals
from .errors import ModelFileError
from .feature_map import FeatureMap
from .fitting.describing import EXPOSURE_IS_PUBLIC, WEIGHTS_ARE_PUBLIC, estimates_of
from .inference import Inference
from .ledger import BudgetLedger, Entry
from .privacy import GaussianRelease, Neighbours, OpaqueRelease, epsilon_of
from .privacy.certificate import certified_delta
from .report import PrivacyReport
from .report.alarm import NOT_PRIVATE
from .report.basis import digest_of
from .report.charge import charge_of_fit
from .storage.model_file import FORMAT, opened
from .versions import __version__

_IN_A_PAGE = re.compile(r'<script type="application/json" id="privacy-report">(.*?)</script>', re.DOTALL)
_ROUNDING = 1e-6  # relative; versions of libraries differ in less


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, or could not be, and what differs; or whether the fit is private as configured."""

    what: str
    holds: bool
    detail: str
    about: Literal["accounting", "privacy", "unchecked"] = "accounting"


def verify_file(path: str | os.PathLike[str], *, ledger: BudgetLedger | None = None) -> tuple[Finding, ...]:
    """Check a model file, or a report that was saved as JSON or as an HTML page.

    ModelFileError is raised where the file is neither, or lacks what a report needs.
    """
    written = _text(path)
    page = _IN_A_PAGE.search(written)
    if page is None and "htm" in Path(path).suffix.lower():  # a browser shows whatever text stands there
        raise _not_to_be_verified(path, "it is not a page written by dpols")
    document = _document(path, written if page is None else page.group(1))
    if page is not None:
        return (*verify_report(document, ledger=ledger), _shown(document, written))
    if document.get("format") != FORMAT:
        return verify_report(document, ledger=ledger)
    content, intact = opened(written.encode(), path)
    if not isinstance(content.get("report"), dict):
        raise ModelFileError(f"{str(path)!r} has no privacy report.")
    findings = verify_report(content["report"], ledger=ledger)
    detail = "matches" if intact else "does not match: the file was changed after it was written"
    return (
        Finding("checksum of the file", intact, detail),
        _coefficients(content),
        _columns(content),
        _outcome(content),
        *_intervals(content),
        *_ranges(content),
        *findings,
    )


def verify_report(data: dict[str, Any], *, ledger: BudgetLedger | None = None) -> tuple[Finding, ...]:
    """Check a report, as `PrivacyReport.to_dict` gives it, against its own releases and, if given, a ledger."""
    try:
        report = PrivacyReport.from_dict(data)
    except ModelFileError:
        if (other := _other_version(data)) is None:
            raise
        said = Finding("private as configured", data.get("private") is True, "only as the report says", about="privacy")
        return Finding("fields of the report", False, _unreadable(other), about="unchecked"), said
    findings = [_fields(report, data), _row_count(report, data), *_cost(report)]
    if ledger is not None:
        findings.append(_charged(report, digest_of(data), ledger))
    # Another version may know reasons that this one does not.
    private = report.private and data.get("private") is True
    seen = "yes: no seed, no bounds read from the data, and no step seen that voids it"
    detail = report.alarm or (seen if private else "the report says that it is not")
    return (*findings, Finding("private as configured", private, detail, about="privacy"))


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8")  # as it is: names may hold ends of lines of any kind
    except OSError as error:
        raise ModelFileError(f"cannot read {str(path)!r}: {error.strerror}.") from None
    except ValueError:
        raise _not_to_be_verified(path, "it is not text in UTF-8") from None


def _document(path: str | os.PathLike[str], data: str) -> dict[str, Any]:
    try:
        document = json.loads(data, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):
        raise _not_to_be_verified(path, "it holds no valid JSON") from None
    if not isinstance(document, dict):
        raise _not_to_be_verified(path, "its JSON is no report")
    return document


def _not_to_be_verified(path: str | os.PathLike[str], why: str) -> ModelFileError:
    return ModelFileError(
        f"{str(path)!r} cannot be verified: {why}. What can be is a report that dpols wrote as an HTML page (.html) or "
        "as JSON (.json), and a model file."
    )


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a field that is there twice, of which a person may read the one and a program the other."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is there twice")
    return fields


def _other_version(data: dict[str, Any]) -> str | None:
    """Return the version of dpols that wrote a report, by its own word, where it is not this one."""
    try:
        version = {str(name): str(version) for name, version in data["versions"]}["dpols"]
    except (KeyError, TypeError, ValueError):
        return None
    return None if version == __version__ else version


def _unreadable(version: str) -> str:
    return f"cannot be checked: it was written by dpols {version!r}, and this is {__version__}; verify it with that one"


def _shown(data: dict[str, Any], written: str) -> Finding:
    """Compare a page with the one that its data gives."""
    what, other = "page as shown", _other_version(data)
    try:
        expected = PrivacyReport.from_dict(data).to_html()
    except ModelFileError:
        expected = ""
    if written == expected:
        return Finding(what, True, "what the page shows is what its data gives")
    if other is not None:
        return Finding(what, False, _unreadable(other), about="unchecked")
    pairs = zip_longest(written.split("\n"), expected.split("\n"))
    line = next(number for number, (one, other) in enumerate(pairs, start=1) if one != other)
    return Finding(what, False, f"line {line} of the page is not what its data gives: it was changed")


def _fields(report: PrivacyReport, data: dict[str, Any]) -> Finding:
    """Compare with what the report itself would write, derived fields such as ``private`` and its method included."""
    written = json.loads(report.to_json()) | _of_the_method(report.method)
    names = {*written, *data}
    differing = sorted(name for name in names if written.get(name) != data.get(name))
    other = _other_version(data)
    if differing and other is not None:
        return Finding("fields of the report", False, _unreadable(other), about="unchecked")
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
    if (other := _other_version(data)) is not None:
        return Finding(what, False, _unreadable(other), about="unchecked")
    return Finding(what, False, problem)


def _contradiction_on_rows(report: PrivacyReport) -> str | None:
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
    if expected is None or (noise is not None and math.isclose(noise, expected, rel_tol=_ROUNDING)):
        return None
    return f"n_rows_noise={noise}, and {expected:.6g} follows from the release of the {TOTALS_NAME}"


def _noise_of_row_count(report: PrivacyReport) -> float | None:
    """Return the noise of the number of rows where it follows from a multiplier alone; methods with sketches differ."""
    found = next((line.release for line in report.lines if line.what == TOTALS_NAME), None)
    if not isinstance(found, GaussianRelease):
        return None
    one_more = WEIGHTS_ARE_PUBLIC in report.assumed_public or EXPOSURE_IS_PUBLIC in report.assumed_public
    return report.rows_per_unit * noise_of_totals(found.multiplier, one_more=one_more)


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


def _columns(content: dict[str, Any]) -> Finding:
    """Compare which columns a model multiplies by its coefficients, and their ranges, with what its report says."""
    try:
        given, names = content["feature_map"], content["feature_names"]
        feature_map = None if given is None else FeatureMap.from_dict(given)
        if feature_map is not None:
            names = list(feature_map.names)
        elif names is None:
            names = [f"x{place}" for place in range(len(content["coef"]))]
        listed = [line["name"] for line in content["report"]["coefficients"]][: len(content["coef"])]
        stated = [tuple(line) for line in content["report"]["bounds"]]
        low, high = content["target_range"]
        target = next(text for name, text in reversed(stated) if name == "target")
        same = names == listed and str(target).endswith(f"[{low:g}, {high:g}]")
    except (KeyError, StopIteration, TypeError, ValueError):
        raise ModelFileError("the model file lacks a part of its columns or of their ranges.") from None
    if feature_map is not None:
        same = same and set(feature_map.describe()) <= set(stated)
        same = same and content["feature_names"] in (None, list(feature_map.raw_columns))
    same = same and content["report"].get("formula") == (None if feature_map is None else feature_map.formula)
    return Finding("columns and ranges", same, "those of the report" if same else "differ from those of the report")


def _outcome(content: dict[str, Any]) -> Finding:
    """Compare what a model predicts with what its report says: family, labels, exposure, a function of the target."""
    report = content["report"]
    try:
        method = (ALGORITHMS | GENERALISED).get(report["method"])
        family = None if method is None else method.family
        labels = [str(label) for label in content.get("classes", ())]
        feature_map = None if content["feature_map"] is None else FeatureMap.from_dict(content["feature_map"])
        stated = {name: text for name, text in report["bounds"]}  # of a name that a column has, too, the last
        target, exposed = stated["target"], EXPOSURE_IS_PUBLIC in report["assumed_public"]
        same = (content["family"], labels) == (family, report["labels"])
        same = same and _as_range(content.get("exposure_range")) == (stated["exposure"] if exposed else None)
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("the model file lacks a part of what it predicts.") from None
    fitted = "" if feature_map is None or not feature_map.target_transform else f" of {feature_map.fitted_name}, where"
    same = same and (fitted in str(target) if fitted else " of " not in str(target))
    return Finding("what is predicted", same, "that of the report" if same else "differs from that of the report")


def _as_range(ends: Any) -> str | None:
    """Return a range as reports write it."""
    if ends is None:
        return None
    low, high = ends
    return f"[{low:g}, {high:g}]"


def _intervals(content: dict[str, Any]) -> Iterator[Finding]:
    """Compare the estimates that a model's summary prints with those in its report."""
    given, listed = content.get("inference"), content["report"].get("estimates")
    try:
        found = () if given is None else estimates_of(Inference.from_dict(given))
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("the model file lacks a part of its intervals.") from None
    if not found and not listed:
        return
    same = isinstance(listed, list) and len(found) == len(listed)
    same = same and all(_alike(asdict(one), other) for one, other in zip(found, listed, strict=True))
    yield Finding("intervals", same, "those of the report" if same else "differ from those of the report")


def _alike(one: dict[str, Any], other: Any) -> bool:
    if not isinstance(other, dict) or one.keys() != other.keys():
        return False
    return all(
        math.isclose(value, other[name], rel_tol=_ROUNDING)
        if isinstance(value, float) and isinstance(other[name], int | float)
        else value == other[name]
        for name, value in one.items()
    )


def _ranges(content: dict[str, Any]) -> Iterator[Finding]:
    """Compare where the ranges of a model's features come from with what its report says."""
    feature_map = content.get("feature_map")
    if isinstance(feature_map, dict) and feature_map.get("origin") == "data":
        same = content["report"].get("bounds_origin") == "data"
        yield Finding("origin of the bounds", same, "the data" if same else "the data, while the report says otherwise")


def _charged(report: PrivacyReport, digest: str, ledger: BudgetLedger) -> Finding:
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
        other = _other_version(report.to_dict())
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
    return bool(boxes) and math.isclose(sum(box.epsilon for box in boxes), zero_out.epsilon, rel_tol=_ROUNDING)
