"""``fit``, ``predict`` and ``release_sketch`` under generated tables and parameters, and what each call must obey.

Needs hypothesis.
"""

import math
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from dpols import randomness
from dpols.errors import ArithmeticWarning, DpolsError, InferenceWarning, WeakGuaranteeWarning
from dpols.estimators import PrivateLinearRegression
from dpols.sketching import PrivateSketch, release_sketch

from .cases import SECRET_NUMBER, Case, fit_cases, sketch_cases
from .forms import SECRET_WORD
from .guided import LIMIT, Finding, Fuzzed, TooSlow, WrongResult, at_most, described, is_new, is_ours, place_of, require

Array = np.ndarray[Any, np.dtype[Any]]

_ALLOWED_WARNINGS = (
    ArithmeticWarning,
    DataConversionWarning,
    InferenceWarning,
    PendingDeprecationWarning,
    WeakGuaranteeWarning,
)
_CONVERSIONS = ("real_numbers", "_matrix")  # where numpy says what is wrong with a nested list
_SECRETS = (SECRET_WORD, f"{SECRET_NUMBER:.0f}", f"{SECRET_NUMBER:.6e}"[:8])


class Call(NamedTuple):
    """An entry point that takes objects: the cases, and one call, which says whether it was accepted."""

    cases: Callable[[], st.SearchStrategy[Case]]
    call: Callable[[Case, Any, Any, list[int]], bool]


def fuzz_calls(name: str, *, inputs: int, seconds: float, seed: int = 0, last: Path | None = None) -> Fuzzed:
    """Check generated calls, up to so many or for so long; ``last`` is as in `fuzz`."""
    done, start = Fuzzed(), time.monotonic()

    def one(case: Case) -> None:
        if time.monotonic() - start > seconds:
            return
        done.inputs += 1
        if last is not None:
            last.write_bytes(case.to_bytes())
        found = judged_call(name, case)
        done.accepted += found is True
        if isinstance(found, Finding) and is_new(found, done.findings):
            done.findings.append(found)

    run = settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )(seeded(seed)(given(CALLS[name].cases())(one)))
    run()
    done.seconds = time.monotonic() - start
    return done


def judged_call(name: str, case: Case) -> Finding | bool:
    """Make one call; return whether it was accepted, or what no call may do."""
    try:
        with at_most(LIMIT):
            return check(name, case)
    except (Exception, TooSlow) as error:
        return Finding(described(error), place_of(error), case.to_bytes())


def check(name: str, case: Case) -> bool:
    """Make one call; return whether it was accepted, and raise where a promise is broken."""
    X, y = case.table()
    before = fingerprint(X), fingerprint(y)
    with warnings.catch_warnings(record=True) as heard, counted_bits() as drawn:
        warnings.simplefilter("always")
        accepted = CALLS[name].call(case, X, y, drawn)
    require((fingerprint(X), fingerprint(y)) == before, "inputs were modified")
    for warning in heard:
        where = f"{Path(warning.filename).name}:{warning.lineno}"
        what = f"{warning.category.__name__} at {where}: {warning.message}"
        require(issubclass(warning.category, _ALLOWED_WARNINGS), what)
        _require_no_secret(str(warning.message))
    return accepted


def _fit(case: Case, X: Any, y: Any, drawn: list[int]) -> bool:
    try:
        model = PrivateLinearRegression(bounds=case.declared(), **case.parameters)
    except DpolsError:
        return False
    try:
        model.fit(X, y)
    except (ValueError, TypeError) as error:
        _require_documented(error)
        require(not drawn, "random bits were drawn before the refusal")
        _require_unfitted(model)
        return False
    _check_fit(model)
    for table in (X, case.later_table()):
        try:
            # Predictions for rows of 1e308 may well be infinite, and scikit-learn warns of columns by other names.
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".* feature names", category=UserWarning)
                model.predict(table)
        except (ValueError, TypeError) as error:
            _require_documented(error)
    return True


def _check_fit(model: PrivateLinearRegression) -> None:
    require(bool(np.isfinite(model.coef_).all()) and math.isfinite(model.intercept_), "coefficients are not finite")
    report = model.privacy_report_
    require(report.spent_epsilon <= report.asked.epsilon * (1.0 + 1e-9), "more was spent than asked for")
    require("Privacy report" in str(report) and bool(report.to_json()), "no report")


def _sketch(case: Case, X: Any, y: Any, drawn: list[int]) -> bool:
    try:
        sketch = release_sketch(X, bounds=case.declared(), **case.parameters)
    except (ValueError, TypeError) as error:
        _require_documented(error)
        require(not drawn, "random bits were drawn before the refusal")
        return False
    _check_sketch(sketch)
    return True


def _check_sketch(sketch: PrivateSketch) -> None:
    report = sketch.report
    require(bool(np.isfinite(sketch.rows_).all()) and math.isfinite(sketch.shift), "the sketch is not finite")
    require(sketch.rows_.shape == (report.sketch_rows, len(sketch.columns)), "a sketch of another shape")
    require(report.spent_epsilon <= report.asked.epsilon * (1.0 + 1e-9), "more was spent than asked for")
    require(report.certified_delta <= report.asked.delta, "more was certified than asked for")
    require("Privacy report" in str(report) and bool(report.to_json()), "no report")


CALLS = {"fit and predict": Call(fit_cases, _fit), "release_sketch": Call(sketch_cases, _sketch)}


def _require_documented(error: Exception) -> None:
    """Let through errors of dpols, and those by which scikit-learn or numpy refuse what is no table of numbers."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame.name for frame in frames if is_ours(frame.filename)]
    by_scikit_learn = any("sklearn" in Path(frame.filename).parts for frame in frames)
    if not (isinstance(error, DpolsError) or by_scikit_learn or ours[-1] in _CONVERSIONS):
        raise error
    _require_no_secret(str(error))


def _require_no_secret(message: str) -> None:
    require(not any(secret in message for secret in _SECRETS), "a message quotes a cell")


def _require_unfitted(model: PrivateLinearRegression) -> None:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return
    raise WrongResult("a refused fit left a fitted estimator")


@contextmanager
def counted_bits() -> Iterator[list[int]]:
    """Yield a list that gets the number of words of every draw."""
    drawn: list[int] = []
    sources = (randomness.SystemBits, randomness.SeededBits)
    with ExitStack() as patches:
        for source in sources:
            patches.enter_context(mock.patch.object(source, "words", _counting(source.words, drawn)))
        yield drawn


def _counting(words: Callable[[Any, int], Array], drawn: list[int]) -> Callable[[Any, int], Array]:
    def counted(bits: Any, count: int) -> Array:
        drawn.append(count)
        return words(bits, count)

    return counted


def fingerprint(value: Any) -> Any:
    """Return what must be the same after a call: types, layout and every value, to the bit where there are bits."""
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return value.dtype.str, value.shape, value.strides, value.flags.writeable, content
    if sparse.issparse(value):
        return fingerprint(value.toarray())
    if hasattr(value, "to_pydict"):
        return str(value.schema), repr(value.to_pydict())
    if hasattr(value, "to_numpy"):
        return str(getattr(value, "columns", "")), type(value).__name__, repr(value.to_numpy().tolist())
    return repr(value)
