"""A privacy report as a page that can be handed on: Markdown, or HTML that needs nothing but itself."""

from .html import to_html
from .markdown import to_markdown

__all__ = ["to_html", "to_markdown"]
