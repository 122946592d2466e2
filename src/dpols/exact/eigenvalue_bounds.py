"""Rigorous bounds on the extreme eigenvalues of an integer matrix.

Let V and D be the eigenvectors and eigenvalues that double-precision LAPACK returns for A; nothing is assumed of
them. With R = A - V D V' and e = ||V'V - I||, Ostrowski's theorem puts the i-th eigenvalue of V D V' between (1 - e)
D_i and (1 + e) D_i, and Weyl's within ||R|| of the i-th eigenvalue of A. Hence

    |i-th eigenvalue of A - D_i| <= ||R|| + e |D_i|.

Both norms (of symmetric matrices) are at most the largest row sum of absolute values. R and V'V - I are computed in
double precision; every entry of a product of n-column matrices F, G has an error of at most n u / (1 - n u) times the
entry of |F| |G|, u = 2**-53, in any order of summation, fused or not (Higham, 2002, section 3.5). Scaling by D, the
subtraction, the rounding of A to doubles and the evaluation of the bound itself cost at most 4 u more of the same
magnitude; twice n + 4 units are charged. Underflow is of the order of 2**-1074 against integers of at least 1 and
drowns in the same margin.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

_UNIT_ROUNDOFF = 2.0**-53
_MARGIN = 1.0 + 2.0**-30
_LARGEST_ENTRY = 2.0**500


def certified_eigenvalue(gram: ArrayLike, which: Literal["smallest", "largest"]) -> tuple[float, float]:
    """Bounds (lower, upper) on an extreme eigenvalue of a positive semidefinite integer matrix; both at least 0.

    The bounds are about 1e-13 of the trace apart at 77 columns.
    """
    matrix = np.array(gram).astype(np.float64)
    if not np.abs(matrix).max() < _LARGEST_ENTRY:
        raise ValueError("the entries of gram must be below 2**500 in magnitude.")
    charge = 2.0 * (len(matrix) + 4) * _UNIT_ROUNDOFF
    values, vectors = np.linalg.eigh(matrix)
    size_of_vectors = np.abs(vectors)
    residual = np.abs(matrix - (vectors * values) @ vectors.T)
    residual += charge * ((size_of_vectors * np.abs(values)) @ size_of_vectors.T + np.abs(matrix))
    skewness = np.abs(vectors.T @ vectors - np.eye(len(matrix)))
    skewness += charge * (size_of_vectors.T @ size_of_vectors + np.eye(len(matrix)))
    nearly = float(values.min() if which == "smallest" else values.max())
    distance = (_norm_bound(residual) + _norm_bound(skewness) * abs(nearly)) * _MARGIN
    lower, upper = math.nextafter(nearly - distance, -math.inf), math.nextafter(nearly + distance, math.inf)
    return max(0.0, lower), max(0.0, upper)


def _norm_bound(magnitudes: NDArray[np.float64]) -> float:
    return float(magnitudes.sum(axis=1).max()) * _MARGIN
