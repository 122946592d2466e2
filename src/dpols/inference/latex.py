r"""Tables in LaTeX, with the rules of the package booktabs. Names are text: nothing in them is markup."""

import re
from collections.abc import Sequence

from ..seen_text import visible

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_NUMBER = re.compile(r"([-+]?)([0-9.]+)(?:e([-+]?)0*([0-9]+))?")


def latex_table(headings: Sequence[str], parts: Sequence[Sequence[Sequence[str]]], notes: Sequence[str] = ()) -> str:
    """Return a table whose first column is text and whose others are numbers, with a rule between its parts.

    A row that is shorter than the headings ends in words, which stand under the rest of them.
    """
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{l" + "r" * (len(headings) - 1) + "}",
        r"\toprule",
        _row([escaped(head) for head in headings]),
    ]
    for part in parts:
        lines += [r"\midrule", *(_row(_cells(row, len(headings))) for row in part)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(rf"\par {{\footnotesize {escaped(note)}\par}}" for note in notes)]) + "\n"


def escaped(text: str) -> str:
    """Return text in which nothing is markup.

    >>> escaped("a_b & 50%")
    'a\\\\_b \\\\& 50\\\\%'
    """
    plain = "".join(_SPECIAL.get(sign, sign) for sign in visible(" ".join(text.split())))
    return f"{{}}{plain}" if plain[:1] in ("[", "*") else plain  # after a line's end these are an argument of it


def _cells(row: Sequence[str], width: int) -> list[str]:
    first, *rest = row
    cells = [escaped(first), *map(_cell, rest)]
    if len(row) < width:
        cells[-1] = rf"\multicolumn{{{width - len(row) + 1}}}{{c}}{{{cells[-1]}}}"
    return cells


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _cell(text: str) -> str:
    """Return a number as one, with a minus and a power of ten, and anything else as text."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return escaped(text)
    sign, digits, power_sign, power = found.groups()
    times = "" if power is None else rf" \times 10^{{{power_sign.replace('+', '')}{power}}}"
    return f"${sign}{digits}{times}$" if sign or times else digits
