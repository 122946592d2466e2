"""How a text file writes a table: its separator, its decimal mark and its encoding.

What is not said follows from the name of the file and from its header, never from a row: one row must not decide how
others are read.
"""

import codecs
from dataclasses import dataclass
from typing import Any

from ...errors import DataError

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "bar": "|"}
_ASCII = bytes(range(128))
_FALLBACK = "cp1252"  # what Windows writes; Latin-1 but for signs that no text has


@dataclass(frozen=True)
class Dialect:
    """What is said of a text file.

    Parameters
    ----------
    separator : str, optional
        What stands between values: ``","``, ``";"``, ``"|"`` or a tab. By default the one that is most frequent in the
        header, and a tab in .tsv files.
    decimal : str, optional
        The decimal mark, ``"."`` or ``","``. By default a comma where semicolons separate, as spreadsheets write it in
        most of Europe, else a point.
    encoding : str, optional
        UTF-8, or one byte for each letter, such as "latin-1". By default each text is read as UTF-8 and, where it is
        none, as Windows-1252, of which Latin-1 is a part.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None:
            sign = _WORDS.get(self.separator, self.separator)
            if sign not in SEPARATORS:
                raise DataError(
                    f"separator {self.separator!r} must be one of , ; | or tab; write the file anew with one of these."
                )
            object.__setattr__(self, "separator", sign)
        if self.decimal not in (None, ".", ","):
            raise DataError(f"decimal mark {self.decimal!r} must be . or a comma.")
        if self.decimal == "," == self.separator:
            raise DataError("separator and decimal mark are both a comma; values could not be distinguished.")
        if self.encoding is not None:
            _check_encoding(self.encoding)

    @property
    def options(self) -> dict[str, Any]:
        """How ``read`` names what is said."""
        return {"sep": self.separator, "decimal": self.decimal, "encoding": self.encoding}

    def settled(self, header: bytes, suffix: str) -> "Dialect":
        """Return a dialect in which separator and decimal mark are known, from the header of a file and its suffix."""
        separator = self.separator or ("\t" if suffix in (".tsv", ".tab") else _most_frequent(header))
        decimal = self.decimal or ("," if separator == ";" else ".")
        if decimal == "," == separator:
            raise DataError(
                "decimal mark , cannot be, since commas separate the values of the header; values with a comma must "
                "be separated by semicolons or tabs."
            )
        return Dialect(separator, decimal, self.encoding)

    def text(self, value: bytes) -> str:
        """Return a value as text. What is none in a stated encoding has signs of replacement, and is no error."""
        if self.encoding is not None:
            return value.decode(self.encoding, errors="replace")
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode(_FALLBACK, errors="replace")

    def is_utf8(self, content: bytes) -> bool:
        """Return whether every text in some lines is what it is in UTF-8."""
        if content.isascii():
            return True
        if self.encoding is not None and codecs.lookup(self.encoding).name != "utf-8":
            return False
        try:
            content.decode()
        except UnicodeDecodeError:
            return False
        return True


def _most_frequent(header: bytes) -> str:
    """Return the separator that a header has most often outside of quotation marks; a comma where it has none."""
    outside = b"".join(header.split(b'"')[::2])
    return max(SEPARATORS, key=lambda sign: outside.count(sign.encode()))


def _check_encoding(encoding: str) -> None:
    try:
        name = codecs.lookup(encoding).name
        plain = name == "utf-8" or (
            _ASCII.decode(encoding) == _ASCII.decode("ascii")
            and all(len(bytes([code]).decode(encoding, errors="replace")) == 1 for code in range(128, 256))
            and len(bytes(range(128, 256)).decode(encoding, errors="replace")) == 128
        )
    except (LookupError, UnicodeError, TypeError, ValueError, AttributeError):
        raise DataError(f"encoding {encoding!r} is not known; use utf-8, latin-1, cp1252 or the like.") from None
    if not plain:
        raise DataError(
            f"encoding {encoding!r} cannot be read line by line; write the file anew in UTF-8, in a spreadsheet as "
            '"CSV UTF-8".'
        )
