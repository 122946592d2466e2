"""Holds BLAS at one thread, as every fit does: to set it takes as long as a pass over a few rows."""

import pytest

from dpols.data.threads import one_blas_thread


@pytest.fixture(autouse=True, scope="module")
def _one_blas_thread():
    with one_blas_thread():
        yield
