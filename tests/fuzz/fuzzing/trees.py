"""Mutations of JSON documents as trees, since changed bytes are mostly no JSON at all."""

import json
from copy import deepcopy
from random import Random
from typing import Any

from .mutation import LONGEST, Mutator

_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 1e-320, 2**53 + 1, 10**400, 10**18),
    *("", "nan", "inf", "1.5", "3", "\x00", "\ud800", "zero-out", "gaussian", "mixing", "failure", "opaque"),
    *([], {}, [[]], [None], {"": None}, [1, 2, 3], {"epsilon": 1.0, "delta": 0.5}),
)
_NOT_FINITE = (float("nan"), float("inf"), float("-inf"))


class TreeMutator(Mutator):
    """Changes a node of a JSON document most of the time, and bytes otherwise."""

    def __call__(self, data: bytes, other: bytes) -> bytes:
        if self.random.random() < 0.2:
            return super().__call__(data, other)
        try:
            tree, donor = json.loads(data), json.loads(other)
        except (ValueError, RecursionError):
            return super().__call__(data, other)
        root = [tree]
        for _ in range(self.random.choice((1, 1, 2, 4))):
            _change(root, donor, self.random)
        changed = json.dumps(root[0]).encode()
        return changed if len(changed) <= LONGEST else data  # a tree that was copied into itself a few times


def _change(root: list[Any], donor: Any, random: Random) -> None:
    """Replace, remove, copy or nudge one node below ``root``, in place."""
    holder, key = random.choice(_places(root))
    match random.randrange(6):
        case 0 | 1:
            holder[key] = _odd(random)
        case 2 if holder is not root:
            del holder[key]
        case 3:
            source, place = random.choice(_places([donor]))
            holder[key] = deepcopy(source[place])
        case 4 if isinstance(holder, list) and holder is not root:
            holder.insert(key, deepcopy(holder[key]))
        case 5 if isinstance(holder, dict):
            holder[str(key) + random.choice(("", "x", "\x00"))] = _odd(random)
        case _:
            value = holder[key]
            holder[key] = (
                random.choice((-value, value * 1000, str(value))) if isinstance(value, int | float) else [value]
            )


def _odd(random: Random) -> Any:
    """Return a value of its own, which later changes may go into."""
    return deepcopy(random.choice(_ODD_VALUES + _NOT_FINITE if random.random() < 0.2 else _ODD_VALUES))


def _places(root: list[Any]) -> list[tuple[Any, Any]]:
    """Return every node of a tree as its container and its key there."""
    places: list[tuple[Any, Any]] = []
    waiting: list[Any] = [root]
    while waiting:
        holder = waiting.pop()
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            places.append((holder, key))
            if isinstance(value, dict | list) and value:
                waiting.append(value)
    return places
