"""Errors that speak of parameters in Python, said in the words of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ParameterError


@contextmanager
def options_named(**options: str) -> Iterator[None]:
    """Let an error about a parameter begin with the option that it was given by; also a decorator of commands.

    >>> with options_named(multiplier="--gaussian "):
    ...     raise ParameterError("multiplier=-2.0 must be positive.")
    Traceback (most recent call last):
    ...
    dpols.errors.ParameterError: --gaussian -2.0 must be positive.
    """
    try:
        yield
    except ParameterError as error:
        name, _, rest = str(error).partition("=")
        if name not in options:
            raise
        raise type(error)(f"{options[name]}{rest}") from None
