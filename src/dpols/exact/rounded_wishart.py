"""Gaussian sketches rounded to a grid, exactly in law.

For an integer data matrix X, the sketch S [X; sqrt(shift) I] with independent standard normal entries of S has as its
Gram matrix a Wishart matrix with `rows` degrees of freedom and parameter A = X'X + shift I. `rounded_wishart` returns
that matrix, each entry divided by 2**grid_exponent and rounded to the nearest integer. The integers are
post-processing of the ideal sketch: what is proved of it in real arithmetic holds of them.

Method. Write A = L L'. With at least as many rows as columns the Wishart matrix is L B B' L', where B is lower
triangular with independent entries, below the diagonal standard normal and at place i = 0, 1, ... of the diagonal the
root of a chi-square with rows - i degrees of freedom (Bartlett, 1933). With fewer rows it is L G G' L', where G has
one column of standard normals per row of the sketch. Normals come in pairs from two uniforms; a chi-square with n
degrees of freedom is -2 log(U_1 ... U_m) for n = 2 m, plus the square of one more normal for n = 2 m + 1. The
uniforms are ideal, known to finitely many bits (see `ideal`); L, B and the product are evaluated in ball arithmetic.
If the ball of an entry contains a half-integer, the known bits are doubled, the precision follows, and the same draw
is evaluated again. An entry is zero whatever is drawn, because row i or j of L is, or has a density: half-integers
have probability zero, and this ends.
"""

import math
import operator
from collections.abc import Iterator
from itertools import islice

from flint import arb, arb_mat
from numpy.typing import ArrayLike

from ..randomness import Bits
from .ideal import IdealUniforms, normals
from .matrix_draws import Integers, Parameter, on_grid, settled

_ONE = arb(1)
_ZERO = arb(0)


def rounded_wishart(
    gram: ArrayLike, *, shift: int, rows: int, grid_exponent: int, bits: Bits, parameter: Parameter | None = None
) -> Integers:
    """The Wishart matrix with `rows` degrees of freedom and parameter gram + shift I, in multiples of 2**grid_exponent.

    `gram` is symmetric, positive semidefinite and of integers. Takes a number of words from `bits` that depends on
    `rows` and the size of `gram` only. The result is symmetric, of int64 if every entry fits and of Python integers
    otherwise. ``parameter`` is that of this matrix and shift, where other draws have made it.
    """
    parameter = Parameter(gram, shift) if parameter is None else parameter
    size = parameter.size
    uniforms = IdealUniforms(bits.words(sum(_uniforms(size, rows))).tolist(), bits.spawn())

    def attempt(root: arb_mat, known: list[arb]) -> Integers | None:
        half = root * _ideal_factor(known, size, rows)
        return on_grid(half * half.transpose(), grid_exponent, symmetric=True)

    return settled(attempt, parameter, uniforms)


def _uniforms(size: int, rows: int) -> tuple[int, int]:
    """How many uniforms go into normals, and how many into the even parts of chi-squares."""
    if operator.index(rows) < 1:
        raise ValueError(f"rows must be at least 1, got {rows}.")
    if rows < size:
        gaussians, exponentials = size * rows, 0
    else:
        freedoms = range(rows - size + 1, rows + 1)
        gaussians = size * (size - 1) // 2 + sum(freedom % 2 for freedom in freedoms)
        exponentials = sum(freedom // 2 for freedom in freedoms)
    return gaussians + gaussians % 2, exponentials


def _ideal_factor(uniforms: list[arb], size: int, rows: int) -> arb_mat:
    """The matrix B, or with fewer rows than columns G, as a function of its uniforms."""
    paired, _ = _uniforms(size, rows)
    gaussians, others = iter(normals(uniforms[:paired])), iter(uniforms[paired:])
    if rows < size:
        return arb_mat(size, rows, list(islice(gaussians, size * rows)))
    table = []
    for place in range(size):
        diagonal = _chi_square(rows - place, others, gaussians).sqrt()
        table.append([*islice(gaussians, place), diagonal, *[_ZERO] * (size - place - 1)])
    return arb_mat(table)


def _chi_square(freedom: int, uniforms: Iterator[arb], gaussians: Iterator[arb]) -> arb:
    even_part = -2 * math.prod(islice(uniforms, freedom // 2), start=_ONE).log()
    return even_part + next(gaussians) ** 2 if freedom % 2 else even_part
