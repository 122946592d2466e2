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

Singular A. Let the columns P of A be a basis of its column space. A is positive semidefinite, so A_PP is positive
definite and A = A_P inverse(A_PP) A_P'; with A_PP = C C' the matrix A_P inverse(C)', padded with zero columns, serves
as L. The words taken do not depend on the rank.
"""

import math
import operator
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat
from numpy.typing import ArrayLike, NDArray

from ..randomness import Bits
from .ideal import IdealUniforms, nearest_integer, normals

_GUARD_BITS = 64
_ONE = arb(1)
_ZERO = arb(0)


def rounded_wishart(
    gram: ArrayLike, *, shift: int, rows: int, grid_exponent: int, bits: Bits
) -> NDArray[np.int64] | NDArray[np.object_]:
    """The Wishart matrix with `rows` degrees of freedom and parameter gram + shift I, in multiples of 2**grid_exponent.

    `gram` is symmetric, positive semidefinite and of integers. Takes a number of words from `bits` that depends on
    `rows` and the size of `gram` only. The result is symmetric, of int64 if every entry fits and of Python integers
    otherwise.
    """
    parameter = _parameter(gram, shift)
    size = parameter.nrows()
    uniforms = IdealUniforms(bits.words(sum(_uniforms(size, rows))).tolist(), bits.spawn())
    basis: Sequence[int] = range(size)
    while True:
        with ctx.workprec(uniforms.depth + size + _GUARD_BITS):
            root = _square_root(parameter, basis)
            if root is not None:
                half = root * _ideal_factor(uniforms.balls(), size, rows)
                rounded = _rounded(half * half.transpose(), grid_exponent)
                if rounded is not None:
                    return rounded
        if root is None and len(basis) == size:
            basis = _column_basis(parameter)
        uniforms.extend()


def _parameter(gram: ArrayLike, shift: int) -> fmpz_mat:
    entries = np.array(gram, dtype=object)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1] or entries.size == 0:
        raise ValueError(f"gram must be a square matrix, got shape {entries.shape}.")
    if operator.index(shift) < 0:
        raise ValueError(f"shift must not be negative, got {shift}.")
    table = [[operator.index(entry) for entry in row] for row in entries.tolist()]
    if (entries != entries.T).any():
        raise ValueError("gram must be symmetric.")
    for place, row in enumerate(table):
        row[place] += operator.index(shift)
    return fmpz_mat(table)


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


def _square_root(parameter: fmpz_mat, basis: Sequence[int]) -> arb_mat | None:
    """A matrix L with L L' = parameter, whose column space `basis` spans; None if the precision is too low."""
    size, rank = parameter.nrows(), len(basis)
    if rank == 0:
        return arb_mat(size, size)
    columns = [[arb(parameter[i, j]) for j in basis] for i in range(size)]
    try:
        leading = arb_mat(_cholesky([columns[i] for i in basis]))
        if rank == size:
            return leading
        spanned = leading.solve(arb_mat(columns).transpose()).transpose()
    except ArithmeticError:
        return None
    return arb_mat([row + [_ZERO] * (size - rank) for row in spanned.tolist()])


def _cholesky(table: list[list[arb]]) -> list[list[arb]]:
    """The lower triangular factor, by halves, which leaves the work to products of matrices."""
    size = len(table)
    if size == 1:
        pivot = table[0][0]
        if not pivot > 0:
            raise ArithmeticError("a pivot is not known to be positive.")
        return [[pivot.sqrt()]]
    middle = size // 2
    top = _cholesky([row[:middle] for row in table[:middle]])
    across = arb_mat(top).solve(arb_mat([row[middle:] for row in table[:middle]]))
    below = across.transpose()
    complement = arb_mat([row[middle:] for row in table[middle:]]) - below * across
    bottom = _cholesky(complement.tolist())
    padding = [_ZERO] * (size - middle)
    return [row + padding for row in top] + [left + right for left, right in zip(below.tolist(), bottom, strict=True)]


def _column_basis(parameter: fmpz_mat) -> list[int]:
    """Columns that are a basis of the column space, after an exact check that the matrix is positive semidefinite."""
    echelon, _, rank = parameter.rref()
    basis = [next(j for j in range(parameter.ncols()) if echelon[i, j] != 0) for i in range(rank)]
    for count in range(1, rank + 1):
        leading = fmpz_mat([[parameter[i, j] for j in basis[:count]] for i in basis[:count]])
        if leading.det() <= 0:
            raise ValueError("gram + shift I must be positive semidefinite.")
    return basis


def _rounded(matrix: arb_mat, grid_exponent: int) -> NDArray[np.int64] | NDArray[np.object_] | None:
    """Every entry in multiples of 2**grid_exponent, or None if one of them is open."""
    grid_steps = arb((1, -grid_exponent))
    rounded = np.zeros((matrix.nrows(), matrix.ncols()), dtype=object)
    for i, row in enumerate(matrix.tolist()):
        for j in range(i + 1):
            nearest = nearest_integer(row[j] * grid_steps)
            if nearest is None:
                return None
            rounded[i, j] = rounded[j, i] = nearest
    fits = np.abs(rounded).max() < 2**63
    return rounded.astype(np.int64) if fits else rounded
