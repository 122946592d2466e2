"""Privacy reports: what a fit says of itself, as text, Markdown, an HTML page or plain data."""

from .privacy_report import PrivacyReport
from .release_line import ReleaseLine, release_lines

__all__ = ["PrivacyReport", "ReleaseLine", "release_lines"]
