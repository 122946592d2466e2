"""A ledger holds one neighbouring relation: where the number of rows is private, no fit that takes it for public."""

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, PrivateGridSearch, PrivateLinearRegression, release_sketch
from dpols.errors import LedgerError

BOUNDS = Bounds(features=[(-1.0, 1.0)], target=(-1.0, 1.0))
X = np.linspace(-1.0, 1.0, 50)[:, None]
RELATIONS = ("zero-out", "replace-one", "add-remove")


def fit(ledger, neighbours):
    PrivateLinearRegression(0.1, 1e-7, BOUNDS, neighbours=neighbours, ledger=ledger).fit(X, X[:, 0])


def sketch(ledger, neighbours):
    bounds = Bounds(features=[(-1.0, 1.0)])
    release_sketch(X, bounds=bounds, epsilon=0.1, delta=1e-7, rows=5, neighbours=neighbours, ledger=ledger)


def search(ledger, neighbours):
    PrivateGridSearch(
        PrivateLinearRegression(bounds=BOUNDS),
        {"fit_intercept": [True, False]},
        epsilon=0.1,
        delta=1e-7,
        neighbours=neighbours,
        ledger=ledger,
    ).fit(X, X[:, 0])


@pytest.mark.parametrize("release", [fit, sketch, search])
@pytest.mark.parametrize("asked", RELATIONS)
@pytest.mark.parametrize("kept", RELATIONS)
def test_a_ledger_takes_fits_to_which_the_number_of_rows_is_what_it_is_to_the_ledger(kept, asked, release, tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-5, neighbours=kept)
    if (kept == "add-remove") == (asked == "add-remove"):
        release(ledger, asked)
        assert len(ledger.entries()) == 1
        return
    with pytest.raises(LedgerError, match="public in one of them and private in the other"):
        release(ledger, asked)
    assert ledger.entries() == ()


def test_charges_tell_no_number_of_rows(tmp_path):
    found = []
    for n in (50, 50_001):
        ledger = BudgetLedger(tmp_path / f"{n}.ledger", epsilon=3.0, delta=1e-5, neighbours="add-remove")
        x = np.linspace(-1.0, 1.0, n)[:, None]
        PrivateLinearRegression(0.1, 1e-7, BOUNDS, neighbours="add-remove", ledger=ledger).fit(x, x[:, 0])
        (entry,) = ledger.entries()
        found.append((entry.what, entry.groups, entry.charge, entry.outcome))
    assert found[0] == found[1]
