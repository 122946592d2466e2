"""The rows of a Gaussian sketch rounded to a grid, exactly in law.

For an integer data matrix X, the rows of the sketch S [X; sqrt(shift) I] with independent standard normal entries of S
are independent draws from N(0, A), A = X'X + shift I. `rounded_sketch` returns such rows, each entry divided by
2**grid_exponent and rounded to the nearest integer. The integers are post-processing of the ideal sketch: what is
proved of it in real arithmetic holds of them.

Method. With A = L L' a row is L z for a vector z of standard normals, which come in pairs from ideal uniforms (see
`ideal`); L and the products are evaluated in ball arithmetic. If the ball of an entry contains a half-integer, the
known bits are doubled and the same draw is evaluated again (see `matrix_draws`). An entry is zero whatever is drawn,
because its row of L is, or has a density: half-integers have probability zero, and this ends.
"""

import operator

from flint import arb, arb_mat
from numpy.typing import ArrayLike

from ..randomness import Bits
from .ideal import IdealUniforms, normals
from .matrix_draws import Integers, Parameter, on_grid, settled


def rounded_sketch(gram: ArrayLike, *, shift: int, rows: int, grid_exponent: int, bits: Bits) -> Integers:
    """Independent rows of law N(0, gram + shift I), one below the other, in multiples of 2**grid_exponent.

    `gram` is symmetric, positive semidefinite and of integers. Takes a number of words from `bits` that depends on
    `rows` and the size of `gram` only. The result is of int64 if every entry fits and of Python integers otherwise.
    """
    parameter = Parameter(gram, shift)
    if operator.index(rows) < 1:
        raise ValueError(f"rows must be at least 1, got {rows}.")
    size = parameter.size
    count = rows * size
    uniforms = IdealUniforms(bits.words(count + count % 2).tolist(), bits.spawn())

    def attempt(root: arb_mat, known: list[arb]) -> Integers | None:
        # One row of standard normals for each row of the sketch.
        return on_grid(arb_mat(rows, size, normals(known)[:count]) * root.transpose(), grid_exponent)

    return settled(attempt, parameter, uniforms)
