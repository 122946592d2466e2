"""Replay of whole fits with everything that they can buy: what one unit's rows move, the noise in it, and its price."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import chi2
from whole_fits import (
    BOUNDS,
    MOST,
    OWN,
    PAID,
    leverage,
    model,
    moved,
    noise,
    on_tape,
    pair_on_tape,
    released,
    returned,
    strangers,
    visits,
    without,
    without_allowances,
)

from dpols import BudgetLedger, FeatureMap, NumericColumn
from dpols.algorithms import ALGORITHMS
from dpols.privacy import GaussianRelease

EVERYTHING = {"count_clipped": True}
COUNTS = (
    "counts of values by magnitude",
    "counts of values by quantile",
    "counts of norms of rows",
    "counts of values within and beyond bounds",
)
SEEDS = 32

every_numeric = pytest.mark.parametrize("arithmetic", ["exact", "float"])
every_unit = pytest.mark.parametrize("most", [None, MOST], ids=["rows", "units"])
declared_or_paid = pytest.mark.parametrize("bounds", [BOUNDS, PAID], ids=["declared", "paid"])


def fitting(most, **parameters):
    """A fit as a function of the data, and the rows that one unit has in it."""
    people = visits()[2]
    if most is None:
        return lambda X, y: model(**parameters).fit(X, y), OWN[:1]
    return lambda X, y: model(max_rows_per_unit=most, **parameters).fit(X, y, groups=people), OWN


def by_name(calls, bounds):
    """The calls beside the method of a fit that buys everything, by what they are of."""
    return dict(zip(COUNTS if bounds is PAID else COUNTS[3:], calls, strict=False))


@declared_or_paid
@every_unit
@every_numeric
@pytest.mark.parametrize("method", ALGORITHMS)
def test_one_unit_moves_what_a_fit_lets_out_as_declared_and_nothing_else(method, arithmetic, most, bounds):
    X, y, _ = visits()
    run, own = fitting(most, method=method, arithmetic=arithmetic, bounds=bounds, **EVERYTHING)
    tape, other = pair_on_tape(run, (X, y), without(X, y, own))
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    assert returned(tape.result) == returned(other.result)
    assert released(tape.calls) == without_allowances(tape.result.privacy_report_.releases)
    for call, changed in zip(tape.calls, other.calls, strict=True):
        if call.is_sketch:
            assert leverage(call, changed) * call.declared["floor"] <= 1.0 + 1e-6
        else:
            assert moved(call, changed) <= call.statistic.sensitivity * np.max(call.statistic.step) * (1.0 + 1e-9)
    assert len(by_name(tape.calls, bounds)) == (4 if bounds is PAID else 1)


@every_unit
@every_numeric
def test_one_unit_moves_counts_of_values_that_a_map_clips_as_declared(arithmetic, most):
    X, y, _ = visits()
    columns = {"x": NumericColumn(-3.0, 3.0), "z": NumericColumn(0.0, 50.0, transform="log1p")}
    feature_map = FeatureMap(columns, target=(-10.0, 10.0))
    run, own = fitting(most, arithmetic=arithmetic, bounds=None, feature_map=feature_map, **EVERYTHING)
    tape, other = pair_on_tape(run, (X, y), without(X, y, own))
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    assert returned(tape.result) == returned(other.result)
    counts, changed = tape.calls[0], other.calls[0]
    per_column = np.reshape(counts.statistic.value, (3, -1))
    assert (per_column[:, -1] >= 1).all()  # the unit's values lie above all ranges
    assert moved(counts, changed) <= counts.statistic.sensitivity * np.max(counts.statistic.step) * (1.0 + 1e-9)


@declared_or_paid
@every_unit
@every_numeric
@pytest.mark.parametrize("method", ALGORITHMS)
def test_all_that_a_fit_shows_follows_from_what_it_released(method, arithmetic, most, bounds):
    """On any other rows, with the same values let out, it shows the same, word for word.

    With so little noise whatever is chosen by a count would be another choice on the other rows.
    """
    X, y, _ = visits()
    run, _ = fitting(most, method=method, arithmetic=arithmetic, bounds=bounds, epsilon=300.0, **EVERYTHING)
    tape, other = pair_on_tape(run, (X, y), strangers())
    assert [call.path for call in tape.calls] == [call.path for call in other.calls]
    assert returned(tape.result) == returned(other.result)


@declared_or_paid
@every_unit
@every_numeric
def test_noise_is_what_was_recorded_times_how_far_a_unit_moves_the_value(arithmetic, most, bounds):
    X, y, _ = visits()
    drawn = {}
    for seed in range(SEEDS):
        run, own = fitting(most, method="adassp", arithmetic=arithmetic, bounds=bounds, seed=seed, **EVERYTHING)
        tape, other = pair_on_tape(run, (X, y), without(X, y, own))
        recorded = {line.what: line.release for line in tape.result.privacy_report_.lines}
        after = by_name(other.calls, bounds)
        for name, call in by_name(tape.calls, bounds).items():
            stddev = recorded[name].multiplier * moved(call, after[name])
            drawn.setdefault(name, []).append(noise(call) / stddev)
    for name, parts in drawn.items():
        values = np.concatenate(parts)
        least, most_likely = chi2.ppf([1e-3, 1.0 - 1e-3], len(values)) / len(values)
        spread = float(np.mean(values**2))
        assert least < spread, f"too little noise: {name}"
        assert spread < most_likely, f"too much noise: {name}"
        assert (2 / 3) ** 2 * spread < least < most_likely < (3 / 2) ** 2 * spread, f"no power: {name}"


def delta_of_ratio(mu, epsilon):
    """Delta of Gaussian releases whose squared ratios add up to mu^2 (Balle and Wang, 2018), to forty digits."""
    with mp.workdps(40):
        mu, epsilon = mpf(mu), mpf(epsilon)
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@declared_or_paid
@every_unit
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_a_fit_costs_no_more_than_was_asked_if_its_noise_is_divided_by_what_a_unit_moves(neighbours, most, bounds):
    """From the tape alone: squared movements over squared standard deviations, added up over all releases."""
    X, y, _ = visits()
    run, own = fitting(most, method="adassp", bounds=bounds, neighbours=neighbours, **EVERYTHING)
    opposite = X.copy(), y.copy()
    opposite[0][list(own)], opposite[1][list(own)] = (-9.0, -90.0), -40.0
    tape, other = pair_on_tape(run, (X, y), opposite if neighbours == "replace-one" else without(X, y, own))
    squares = 0.0
    for call, changed in zip(tape.calls, other.calls, strict=True):
        stddev = call.declared["multiplier"] * call.statistic.sensitivity * np.max(call.statistic.step)
        squares += (moved(call, changed) / stddev) ** 2
    report = tape.result.privacy_report_
    assert delta_of_ratio(np.sqrt(squares), report.asked.epsilon) <= report.asked.delta
    if neighbours == "zero-out" and bounds is BOUNDS:
        assert delta_of_ratio(np.sqrt(2.0 * squares), report.asked.epsilon) > report.asked.delta


@declared_or_paid
@every_unit
@pytest.mark.parametrize("method", ALGORITHMS)
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_a_ledger_is_charged_for_what_a_fit_lets_out(method, neighbours, most, bounds, tmp_path):
    boxes = (6.0, 0.05) if neighbours == "zero-out" else (3.0, 1e-4)
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=12.0, delta=0.1, neighbours=neighbours, black_boxes=boxes)
    X, y, _ = visits()
    run, _ = fitting(most, method=method, bounds=bounds, neighbours=neighbours, ledger=ledger, **EVERYTHING)
    tape = on_tape(lambda: run(X, y))
    (entry,) = ledger.entries()
    assert entry == tape.result.ledger_entry_
    gaussian = [call for call in tape.calls if not call.is_sketch]
    beside = [GaussianRelease(call.declared["multiplier"]) for call in by_name(tape.calls, bounds).values()]
    if tape.result.privacy_report_.staged:
        assert without_allowances(entry.releases) >= without_allowances(beside)
        return
    assert without_allowances(entry.releases) == released(tape.calls)
    if len(gaussian) == len(tape.calls):
        ratios = [Fraction(ledger.state().caps.multiplier) / Fraction(call.declared["multiplier"]) for call in gaussian]
        exact = sum(ratio**2 for ratio in ratios)
        assert exact <= Fraction(entry.charge.gaussian) <= exact * (1 + Fraction(1, 2**50))
        assert ledger.state().gaussian == Fraction(entry.charge.gaussian)
