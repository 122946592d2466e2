"""Progress in Python: passes and rows as they go, and a line that says what is left."""

import io
import re
import sys

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.errors import ParameterError

N = 40_000
BOUNDS = Bounds(features=[(0, 1)], target=(0, 2))


@pytest.fixture
def rows():
    x = np.random.default_rng(0).uniform(0, 1, (N, 1))
    return x, x[:, 0]


def model(**parameters):
    return PrivateLinearRegression(1.0, 1e-6, BOUNDS, random_state=0, **parameters)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("parameters", [{}, {"inference": True, "count_clipped": True}, {"method": "ihm"}])
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_a_hook_is_told_of_every_pass(rows, parameters, arithmetic):
    told = []
    model(arithmetic=arithmetic, **parameters).fit(*rows, progress=lambda *numbers: told.append(numbers))
    numbers = [number for number, _, _ in told]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, numbers[-1] + 1))
    for number in set(numbers):
        own = [done for one, done, _ in told if one == number]
        assert own[0] == 0
        assert own == sorted(own)
        assert own[-1] == N
    assert {total for _, _, total in told} == {N}


def test_who_watches_changes_no_number(rows):
    seen, unseen = model(), model()
    seen.fit(*rows, progress=lambda *numbers: None)
    unseen.fit(*rows)
    assert np.array_equal(seen.coef_, unseen.coef_)


def test_a_line_says_which_pass_of_how_many_and_what_is_left(rows, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr("dpols.fitting.progress._EVERY", 0.0)
    model(inference=True).fit(*rows, progress=True)
    lines = [line.strip() for line in terminal.getvalue().split("\r") if line.strip()]
    assert re.fullmatch(r"Fitting, pass 1 of \d+: 0 of 40,000 rows", lines[0])
    later = re.compile(r"Fitting, pass \d+ of \d+, about \d+ s left: [\d,]+ of 40,000 rows")
    assert any(later.fullmatch(line) for line in lines)
    assert terminal.getvalue().endswith("\r")
    last, total = map(int, re.match(r"Fitting, pass (\d+) of (\d+)", lines[-1]).groups())
    assert abs(total - last) <= 3  # what the plan announces is what a fit does, but for a few


def test_nothing_is_shown_where_nobody_watches_or_a_fit_is_quick(rows, monkeypatch, capsys):
    model().fit(*rows)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    model().fit(*rows)
    model().fit(*rows, progress=False)
    assert terminal.getvalue() == ""
    monkeypatch.setattr("dpols.fitting.progress._PATIENCE", 0.0)
    model().fit(*rows)
    assert "pass 1" in terminal.getvalue()


def test_an_interrupt_leaves_a_clean_line_and_the_model_as_it_was(rows, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    fit = model()
    before = dict(vars(fit))

    def interrupt(number, done, total):
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit.fit(*rows, progress=interrupt)
    assert vars(fit) == before
    fit.fit(*rows)
    assert terminal.getvalue() == ""


def test_what_is_no_progress_is_refused(rows):
    with pytest.raises(ParameterError, match="progress='yes' must be True, False, None or a function"):
        model().fit(*rows, progress="yes")
