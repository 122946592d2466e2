"""Rows, a fit and partitions for the tests of engines, and a stage that ends its own worker once."""

from itertools import pairwise

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression

NAMES = ("a", "b", "c", "d")
BOUNDS = Bounds(features=[(-1.0, 1.0), (0.0, 30.0), (0.0, 1.0), (-2.0, 0.5)], x_norm=1.5, target=(-1.0, 3.0))
N_ROWS = 2_000

every_arithmetic = pytest.mark.parametrize("arithmetic", ["exact", "float"])


def table():
    """Doubles, whole numbers and truth values, with values outside their bounds."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    frame = pandas.DataFrame(
        {
            "a": rng.standard_normal(N_ROWS),
            "b": rng.integers(0, 40, N_ROWS),
            "c": rng.random(N_ROWS) > 0.3,
            "d": rng.standard_normal(N_ROWS).astype(np.float32),
        }
    )
    frame["y"] = frame["a"] - 0.05 * frame["b"] + 0.5 * frame["c"] + 0.1 * rng.standard_normal(N_ROWS)
    return frame


# Where partitions end: one row, none, nearly all, none, one, the rest, none.
SKEWED = (0, 1, 1, 1_900, 1_900, 1_901, N_ROWS, N_ROWS)


def pieces(frame):
    return [frame.iloc[start:stop] for start, stop in pairwise(SKEWED)]


def row_groups(frame, folder):
    """Write files with several row groups each."""
    folder.mkdir()
    for number, (start, stop) in enumerate([(0, 1), (1, 1_400), (1_400, N_ROWS)]):
        frame.iloc[start:stop].to_parquet(folder / f"{number}.parquet", index=False, row_group_size=300)


def model(arithmetic="exact", method="ihm", **changes):
    """A model whose fit makes few passes."""
    few = {"ihm": {"n_iterations": 2}, "whitened": {"n_iterations": 3}, "dp-gd": {"n_iterations": 3}}.get(method)
    changes = {"arithmetic": arithmetic, "method": method, "options": few, **changes}
    return PrivateLinearRegression(2.0, 1e-6, BOUNDS, random_state=7, **changes)


def fitted(*data, arithmetic="exact", **changes):
    """Coefficients and intercept of a fit with a fixed seed."""
    fit = model(arithmetic, **changes).fit(*data)
    return np.array([*fit.coef_, fit.intercept_])


def assert_same_fit(actual, expected, arithmetic):
    """The same bits in exact arithmetic; in floating point the same but for the rounding of sums."""
    if arithmetic == "exact":
        np.testing.assert_array_equal(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def deadly_stage(folder, calls):
    """A function of one value that returns it, and in the given call kills its own process; and once only.

    It is defined here and holds no reference to this module, so that it is sent to workers by its code.
    """
    log, mark = str(folder / "calls"), str(folder / "killed")

    def stage(value):
        import os
        import signal

        with open(log, "ab") as file:
            file.write(b".")
        if os.path.getsize(log) >= calls:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return value
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return stage, folder / "killed"
