"""The report as one HTML page: no script, no request, readable on a phone and on paper."""

from typing import Any

from markupsafe import Markup

from ..pages import render
from .content import guarantee, sections, summary, title_of, verdict


def to_html(report: Any) -> str:
    """Return a report as one HTML page that needs no other file. It holds the report as JSON, too."""
    data = report.to_json().replace("<", "\\u003c")  # so that no text can end the element
    return render(
        "report.html",
        report=report,
        title=title_of(report),
        first=(*guarantee(report), verdict(report)),
        summary=summary(report),
        sections=sections(report),
        data=Markup(data),
    )
