"""Files to verify: models, and reports as JSON or as pages."""

import json
import os
import re
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ..errors import ModelFileError
from ..ledger import BudgetLedger
from ..report import PrivacyReport
from ..storage.model_file import FORMAT, finite_whole, opened
from ..storage.output_file import is_ledger
from .finding import Finding, other_version, unreadable
from .models import compared
from .reports import verify_report

_IN_A_PAGE = re.compile(r'<script type="application/json" id="privacy-report">(.*?)</script>', re.DOTALL)


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
        *compared(content),
        *findings,
    )


def _text(path: str | os.PathLike[str]) -> str:
    if is_ledger(Path(path)):
        raise _not_to_be_verified(path, 'it is a ledger, which "dpols ledger check" checks')
    try:
        return Path(path).read_bytes().decode("utf-8")  # as it is: names may hold ends of lines of any kind
    except OSError as error:
        raise ModelFileError(f"cannot read {str(path)!r}: {error.strerror}.") from None
    except ValueError:
        raise _not_to_be_verified(path, "it is not text in UTF-8") from None


def _document(path: str | os.PathLike[str], data: str) -> dict[str, Any]:
    try:
        document = json.loads(data, parse_int=finite_whole, object_pairs_hook=_once_each)
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


def _shown(data: dict[str, Any], written: str) -> Finding:
    """Compare a page with the one that its data gives."""
    what, other = "page as shown", other_version(data)
    try:
        expected = PrivacyReport.from_dict(data).to_html()
    except ModelFileError:
        expected = ""
    if written == expected:
        return Finding(what, True, "what the page shows is what its data gives")
    if other is not None:
        return Finding(what, False, unreadable(other), about="unchecked")
    pairs = zip_longest(written.split("\n"), expected.split("\n"))
    line = next(number for number, (one, other) in enumerate(pairs, start=1) if one != other)
    return Finding(what, False, f"line {line} of the page is not what its data gives: it was changed")
