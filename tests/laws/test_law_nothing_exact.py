"""Law 10: no exact value outlives `run`: not in the estimator, its report, its pickle, its file or an error."""

import dataclasses
import gc
import math
import pickle
import struct
import traceback
import types
import weakref

import numpy as np
import pytest
from law_cases import bounded, every_arithmetic, every_case, problem
from law_oracles import explicit_rows

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.randomness import streams
from dpols.statistics import clipped_gradient, gram, gram_with_target

BOUNDS = Bounds(features=[(-1.1, 1.3)] * 3, target=(-1.7, 1.9))
CANARY = 123456.789


def reachable_numbers(root):
    """Every number that can be reached from an object through attributes, containers and closures."""
    numbers, seen, waiting = [], set(), [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type | types.ModuleType | str | bytes | None):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray) and thing.dtype.kind in "fiu":
            numbers.extend(thing.ravel().tolist())
        elif isinstance(thing, bool | int | float | np.generic):
            numbers.append(float(thing))
        elif isinstance(thing, dict):
            waiting += [*thing.keys(), *thing.values()]
        elif isinstance(thing, list | tuple | set | frozenset | np.ndarray):
            waiting += list(thing)
        elif isinstance(thing, types.FunctionType):
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            waiting += [*cells, thing.__defaults__, thing.__kwdefaults__]
        elif isinstance(thing, types.MethodType):
            waiting += [thing.__self__, thing.__func__]
        else:
            waiting.append(getattr(thing, "__dict__", None))
            waiting += [getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())]
    return np.array([number for number in numbers if math.isfinite(number)])


def exact_statistics(rows):
    """What the package itself computes before any noise, in units and, in exact arithmetic, as whole numbers too."""
    start = np.zeros((1, rows.row_map.n_coordinates))
    found = []
    for statistic in (gram(rows), gram_with_target(rows), clipped_gradient(rows, start, residual_bound=1.0)):
        value = statistic.value.astype(float).ravel()
        found += [value, value * statistic.step]
    return np.concatenate(found)


def secrets(X, y, bounds, *, fit_intercept, arithmetic):
    """Numbers that only the exact data can give, in the data's units and in those of the bounded rows."""
    found = [X.ravel(), y, exact_statistics(bounded(X, y, bounds, fit_intercept=fit_intercept, arithmetic=arithmetic))]
    for rows, targets in ((X, y), explicit_rows(X, y, bounds, fit_intercept=fit_intercept)):
        both = np.column_stack((rows, targets))
        products = both.T @ both
        found += [rows.ravel(), targets, products.ravel(), np.linalg.eigvalsh(products)]
        found += [np.linalg.eigvalsh(rows.T @ rows), np.linalg.lstsq(rows, targets, rcond=None)[0], both.mean(axis=0)]
    values = np.concatenate(found)
    # What the intercept's column gives is public: it depends on the number of rows and columns only.
    constant = 1.0 / math.sqrt(X.shape[1] + 1.0)
    public = np.array([0.0, constant, len(X) * constant**2])
    return values[~np.isclose(values[:, None], public, rtol=1e-4, atol=0.0).any(axis=1)]


def assert_free_of(numbers, forbidden):
    forbidden = np.sort(forbidden)
    place = np.searchsorted(forbidden, numbers).clip(1, len(forbidden) - 1)
    nearest = np.minimum(np.abs(forbidden[place] - numbers), np.abs(forbidden[place - 1] - numbers))
    exposed = numbers[nearest <= 1e-9 * np.abs(numbers)]
    assert len(exposed) == 0, exposed


def fitted(X, y, **more):
    parameters = {"epsilon": 2.0, "delta": 1e-6, "bounds": BOUNDS, "random_state": 0}
    return PrivateLinearRegression(**(parameters | more)).fit(X, y)


@every_arithmetic
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("method", ALGORITHMS)
def test_no_number_that_a_fitted_estimator_holds_is_exact(method, fit_intercept, arithmetic):
    X, y = problem(150, 3)
    model = fitted(X, y, method=method, fit_intercept=fit_intercept, arithmetic=arithmetic, options=None)
    numbers = reachable_numbers(model)
    assert len(numbers) > 20
    assert_free_of(numbers, secrets(X, y, BOUNDS, fit_intercept=fit_intercept, arithmetic=arithmetic))


@every_arithmetic
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nothing_that_intervals_are_made_of_is_exact(fit_intercept, arithmetic):
    X, y = problem(150, 3)
    model = fitted(X, y, fit_intercept=fit_intercept, arithmetic=arithmetic, inference=True)
    forbidden = [secrets(X, y, BOUNDS, fit_intercept=fit_intercept, arithmetic=arithmetic)]
    rows, targets = explicit_rows(X, y, BOUNDS, fit_intercept=fit_intercept)
    for design, target in ((X, y), (rows, targets)):
        gram = design.T @ design
        residuals = target - design @ np.linalg.solve(gram, design.T @ target)
        sums = [target.sum(), target @ target, residuals @ residuals, residuals @ residuals / (150 - design.shape[1])]
        forbidden += [np.linalg.inv(gram).ravel(), np.array(sums)]
    assert model.inference_ is not None
    assert_free_of(reachable_numbers(model), np.concatenate(forbidden))


def test_an_exact_number_would_be_found_wherever_it_hides():
    X, y = problem(150, 3)
    product = explicit_rows(X, y, BOUNDS, fit_intercept=True)[0].T @ X

    @dataclasses.dataclass
    class Holder:
        value: object

    def closure():
        return X

    for hidden in (product, X[3], float(y[7]), (1, {"a": [float((X.T @ y)[0])]}), Holder(y), closure):
        model = fitted(X, y)
        model.left_over_ = hidden
        exposed = np.append(secrets(X, y, BOUNDS, fit_intercept=True, arithmetic="float"), product.ravel())
        with pytest.raises(AssertionError):
            assert_free_of(reachable_numbers(model), exposed)


@every_arithmetic
@every_case
def test_no_number_of_a_fit_or_its_transcript_is_exact(case, arithmetic):
    X, y = problem(100, case.n_features)
    bounds = Bounds(x_norm=1.0, y_abs=1.0)
    plan = case.plan(n_rows=100)
    fit = case.algorithm.run(bounded(X, y, bounds, arithmetic=arithmetic), plan, streams(0, 2))
    assert_free_of(reachable_numbers(fit), secrets(X, y, bounds, fit_intercept=False, arithmetic=arithmetic))


@every_arithmetic
@pytest.mark.parametrize("method", ALGORITHMS)
def test_the_data_is_not_kept_alive(method, arithmetic):
    X, y = problem(20_000, 3)
    alive = [weakref.ref(X), weakref.ref(y)]
    model = fitted(X, y, method=method, arithmetic=arithmetic)
    del X, y
    gc.collect()
    assert [reference() for reference in alive] == [None, None]
    assert model.coef_.shape == (3,)


@every_arithmetic
@pytest.mark.parametrize("method", ALGORITHMS)
def test_a_canary_in_a_row_is_found_nowhere(method, arithmetic, tmp_path):
    X, y = problem(100, 3)
    X[17, 1] = CANARY
    model = fitted(
        X, y, method=method, arithmetic=arithmetic, bounds=Bounds(features=[(-1e6, 1e6)] * 3, target=(-1, 1))
    )
    model.save(tmp_path / "model.json")
    texts = [
        repr(model),
        str(model),
        repr(model.privacy_report_),
        str(model.privacy_report_),
        model.privacy_report_.to_json(),
        repr(vars(model)),
        (tmp_path / "model.json").read_text(),
    ]
    for text in texts:
        assert "123456" not in text
    pickled = pickle.dumps(model)
    for form in (struct.pack("<d", CANARY), struct.pack(">d", CANARY), b"123456", struct.pack("<f", CANARY)):
        assert form not in pickled
        assert form not in (tmp_path / "model.json").read_bytes()


BAD = {
    "nan": lambda X, y: (np.where(X == 0.0, np.nan, X), y),
    "one-dimensional": lambda X, y: (X[:, 1], y),
    "three-dimensional": lambda X, y: (X[None], y),
    "complex": lambda X, y: (X + 1j, y),
    "complex target": lambda X, y: (X, X[:, 1] + 1j),
    "strings": lambda X, y: (np.where(X == CANARY, "canary123456", "a").astype(object), y),
    "string targets": lambda X, y: (X, [f"canary{v}" for v in X[:, 1]]),
    "unequal lengths": lambda X, y: (X, y[1:]),
    "wrong number of bounds": lambda X, y: (X[:, :2], y),
    "two columns of targets": lambda X, y: (X, X[:, :2]),
    "infinite target": lambda X, y: (X, np.where(X[:, 1] == CANARY, np.inf, y)),
}


@pytest.mark.parametrize("spoil", BAD.values(), ids=BAD)
def test_a_canary_is_not_found_in_the_traceback_of_a_refusal(spoil):
    X, y = problem(5, 3)
    X[0, 1], X[1, 0] = CANARY, 0.0
    with pytest.raises((ValueError, TypeError)) as caught:
        fitted(*spoil(X, y))
    text = "".join(traceback.format_exception(caught.value))
    assert "123456" not in text
    assert repr(float(X[2, 2])) not in text
    assert f"{X[2, 2]:.6f}" not in text
