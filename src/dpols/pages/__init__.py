"""HTML pages from templates: one base page and one style sheet for reports, summaries, plans and benchmarks.

Only values marked as safe in Python enter a page unescaped, and only packaged templates are read.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(name: str, **values: Any) -> str:
    """Return a page or a part of one; a value that the template asks for and does not get is an error."""
    return environment().get_template(name).render(values)


@cache
def environment(*packages: str) -> "Environment":
    """Return the templates of these packages, which may extend and import the templates of dpols."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, __name__)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters["unbroken"] = unbroken
    return made


def unbroken(text: str) -> "Markup":
    """Return escaped text in which no line ends inside a number such as 1e-06, or inside a date."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"[\d.]+e-\d+|\b\d{4}-\d\d-\d\d\b", r'<span class="unbroken">\g<0></span>', str(escape(text))))
