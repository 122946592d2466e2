"""The settings of the site that `make docs` builds."""

import re
from pathlib import Path

import typer.main
from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers
from typer.cli import get_docs_for_click

import dpols
from dpols.cli.app import app as commands

project = "dpols"
author = "The dpols authors"
copyright = author
version = release = dpols.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "reference/_commands.md"]
html_theme = "furo"
html_title = f"dpols {release}"
html_show_sphinx = False
html_copy_source = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 3600,
    "within_subsection_order": "FileNameSortKey",  # the published regression comes first
}


def _write_commands() -> None:
    """Write the help of every command, for the page that includes it."""
    command = typer.main.get_command(commands)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="dpols")
    below = re.sub(r"^#", "##", text, flags=re.MULTILINE)
    (Path(__file__).parent / "reference" / "_commands.md").write_text(below, encoding="utf-8")


_write_commands()
lexers["csv"] = TextLexer()  # the blocks are shown as they are


def _to_gallery(app, page, source):
    """Let links to the script of an example lead to its page."""
    source[0] = re.sub(r"\]\(((?:\.\./)*)examples/(plot_\w+)\.py\)", r"](\1gallery/\2.rst)", source[0])


def setup(app):
    """Leave out what estimators inherit from scikit-learn, whose own pages describe it."""
    app.connect("source-read", _to_gallery)
    app.connect(
        "autodoc-skip-member",
        lambda app, what, name, member, skip, options: (
            str(getattr(member, "__module__", "")).startswith("sklearn.") or skip
        ),
    )
