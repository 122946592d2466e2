"""What draws with an integer matrix A as their covariance have in common: a root of A, more bits on demand, a grid.

A draw is evaluated as a function of a root L of A, A = L L', and of ideal uniforms (see `ideal`). If that leaves a
decision open, the precision rises; then the known bits are doubled, the precision follows, and the same draw is
evaluated again.

Singular A. Let the columns P of A be a basis of its column space. A is positive semidefinite, so A_PP is positive
definite and A = A_P inverse(A_PP) A_P'; with A_PP = C C' the matrix A_P inverse(C)', padded with zero columns, serves
as L. The words taken do not depend on the rank.
"""

import operator
from collections.abc import Callable, Sequence

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat
from numpy.typing import ArrayLike, NDArray

from .ideal import IdealUniforms, nearest_integer

Integers = NDArray[np.int64] | NDArray[np.object_]

_FEW_BITS, _GUARD_BITS = 32, 64
_ZERO = arb(0)


class Parameter:
    """The matrix gram + shift I, and roots of it, which draws with the same matrix share.

    A root is computed with few bits first, which nearly all draws can do with.
    """

    def __init__(self, gram: ArrayLike, shift: int) -> None:
        self.matrix = _shifted(gram, shift)
        self.size: int = self.matrix.nrows()
        self._basis: Sequence[int] = range(self.size)
        self._roots: dict[int, arb_mat | None] = {}

    def precisions(self, depth: int) -> tuple[int, int]:
        """Return how many bits to compute with, at first and if that leaves a decision open."""
        return depth + _FEW_BITS, depth + self.size + _GUARD_BITS

    def root(self, precision: int) -> arb_mat | None:
        """Return a matrix L with L L' = matrix at the working precision, which this is; None if that is too low."""
        if precision not in self._roots:
            self._roots[precision] = _square_root(self.matrix, self._basis)
        return self._roots[precision]

    def look_for_a_basis(self) -> None:
        """Take columns that are a basis of the column space, where all may be too many."""
        if len(self._basis) == self.size:
            self._basis = _column_basis(self.matrix)
            self._roots.clear()


def _shifted(gram: ArrayLike, shift: int) -> fmpz_mat:
    """Return the matrix gram + shift I, after a check that it is symmetric and of integers."""
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


def settled(
    attempt: Callable[[arb_mat, list[arb]], Integers | None], parameter: Parameter, uniforms: IdealUniforms
) -> Integers:
    """What `attempt` makes of a root of `parameter` and of the uniforms; it returns None while a decision is open."""
    while True:
        for precision in parameter.precisions(uniforms.depth):
            with ctx.workprec(precision):
                root = parameter.root(precision)
                draw = None if root is None else attempt(root, uniforms.balls())
            if draw is not None:
                return draw
        if root is None:
            parameter.look_for_a_basis()
        uniforms.extend()


def on_grid(matrix: arb_mat, grid_exponent: int, *, symmetric: bool = False) -> Integers | None:
    """Every entry in multiples of 2**grid_exponent, or None if one of them is open.

    Of int64 if every entry fits and of Python integers otherwise.
    """
    grid_steps = arb((1, -grid_exponent))
    rounded = np.zeros((matrix.nrows(), matrix.ncols()), dtype=object)
    for i, row in enumerate(matrix.tolist()):
        for j in range(i + 1 if symmetric else matrix.ncols()):
            nearest = nearest_integer(row[j] * grid_steps)
            if nearest is None:
                return None
            rounded[i, j] = nearest
            if symmetric:
                rounded[j, i] = nearest
    fits = np.abs(rounded).max() < 2**63
    return rounded.astype(np.int64) if fits else rounded


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
