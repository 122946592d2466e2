"""Reports checked by computing them again: what a report says was spent must follow from the releases that it lists.

This finds errors and careless changes. Who changes releases and costs together, consistently, is found only where the
fit was charged to a ledger: pass it, and the entry that the report names must be in it, count, and hold the hash of
the report as the fit wrote it. That the cost is right does not make a fit private: whether it was,
as configured, is a finding of its own.

Of a page, what a person reads must follow from the data that it holds: it is written anew and compared letter by
letter, so that no number, no hidden text and no style that hides something can be changed by itself. Another version
of dpols writes other fields and pages, so that these cannot be checked, which says nothing against them.
"""

from .files import verify_file
from .finding import Finding
from .reports import verify_report

__all__ = ["Finding", "verify_file", "verify_report"]
