"""Text of files on a terminal: nothing in it moves the cursor, hides what follows or turns its direction."""


def visible(text: str, *, keep: str = "") -> str:
    r"""Return text in which control, bidirectional and other unseen characters are shown as Python writes them.

    >>> print(visible("pay\x1b[8m\u202e"))
    pay\x1b[8m\u202e
    """
    return "".join(letter if letter.isprintable() or letter in keep else repr(letter)[1:-1] for letter in text)
