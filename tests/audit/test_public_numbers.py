"""What a report states as public is the same on neighbouring data: no row has a part in it."""

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS, StagedPlan
from dpols.audit.replay import without_row
from dpols.privacy import PrivacyBudget

RELEASED = {
    "coefficients",
    "verdict",
    "verdict_reason",
    "estimates",
    "estimate_notes",
    "inference_hash",
    "advice",
    "residual_bins",
    "residual_sizes",
    "rows_used",
    "rows_used_noise",  # that of a sketch is in proportion to the released number
}
# A method in stages chooses later releases from earlier, noisy ones.
CHOSEN = {"lines", "spent_epsilon"}


def is_staged(method):
    plan = ALGORITHMS[method].plan(PrivacyBudget(1.0, 1e-4), n_rows=60, n_features=3)
    return isinstance(plan, StagedPlan)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize(
    "bounds", [Bounds(x_norm=1.0, y_abs=1.0), Bounds(features=[(0.0, 5.0)] * 2, target=(-3.0, 1.0))]
)
@pytest.mark.parametrize("method", ALGORITHMS)
def test_a_report_states_the_same_public_numbers_with_and_without_a_row(method, bounds, arithmetic):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    X[7], y[7] = 1e3, -1e3
    model = PrivateLinearRegression(
        epsilon=1.0, delta="1/n^2", bounds=bounds, method=method, arithmetic=arithmetic, bad_rows="zero", random_state=0
    )
    # With the row, with a row that is not finite and counts as zero, and with zeros in the units of the data.
    tables = [
        (X, y),
        without_row(X, y, 7),
        (np.where(np.arange(60)[:, None] == 7, 0.0, X), np.where(np.arange(60) == 7, 0.0, y)),
    ]
    private = RELEASED | CHOSEN if is_staged(method) else RELEASED
    stated = []
    for table in tables:
        report = model.fit(*table).privacy_report_.to_dict()
        stated.append({name: value for name, value in report.items() if name not in private})
    assert stated[0] == stated[1] == stated[2]
    assert stated[0]["asked"]["delta"] == 60.0**-2
