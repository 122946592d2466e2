"""A fit is made once, and what was paid for is never lost: clicks, windows, reloads and killed processes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from app_visits import Visitor, shown

from dpols.app.fits import fit_of, fits_of
from dpols.app.site import Site
from dpols.ledger import BudgetLedger

pytestmark = pytest.mark.extras


def entries(site, key="a-study"):
    return BudgetLedger(site.projects.find(key).folder / "budget.ledger").entries()


def test_many_clicks_at_once_make_one_fit(visitor, table):
    key = visitor.walked(table)
    order = visitor.order(key)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: visitor.post(f"{key}/confirm", order), range(8)))
    assert {answer.url.path for answer in answers} == {f"{key}/fits/1"}
    assert visitor.until_done(key) == "done"
    assert visitor.post(f"{key}/confirm", order).url.path == f"{key}/fits/1"
    assert len(entries(visitor.site)) == 1


def test_another_server_on_the_same_folder_makes_no_second_fit(visitor, table, tmp_path):
    key = visitor.walked(table)
    order = visitor.order(key)
    other = Visitor(Site.of(tmp_path / "projects", tmp_path / "uploads"))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda one: one.post(f"{key}/confirm", order), [visitor, other] * 2))
    assert {answer.url.path for answer in answers} == {f"{key}/fits/1"}
    assert other.until_done(key) == visitor.until_done(key) == "done"
    assert len(entries(visitor.site)) == 1


def test_settings_that_were_changed_in_another_window_are_not_fitted_unseen(visitor, table):
    key = visitor.walked(table)
    order = visitor.order(key)
    visitor.plan(key, epsilon="2.5")
    answer = visitor.post(f"{key}/confirm", order)
    assert "settings have changed" in shown(answer)
    assert not entries(visitor.site)
    assert fits_of(visitor.site.projects.find("a-study")) == []


def test_the_same_fit_again_needs_a_word(visitor, table):
    key = visitor.walked(table)
    visitor.post(f"{key}/confirm", visitor.order(key))
    visitor.until_done(key)
    order = visitor.order(key)
    assert order["number"] == "2"
    assert "has been made before" in shown(visitor.post(f"{key}/confirm", order))
    assert len(entries(visitor.site)) == 1
    visitor.post(f"{key}/confirm", {**order, "again": "yes"})
    assert visitor.until_done(key, 2) == "done"
    assert len(entries(visitor.site)) == 2


def test_a_fit_that_the_ledger_refuses_says_so_and_spends_nothing(visitor, table):
    key = visitor.walked(table)
    visitor.plan(key, epsilon="9")
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key) == "failed"
    page = visitor.get(f"{key}/fits/1").text
    assert "Nothing was spent" in page
    assert "would take" in page
    assert "decimal marks" not in page  # nothing on other pages would help
    assert not entries(visitor.site)


def test_a_row_that_cannot_be_read_stops_the_fit_before_anything_is_spent(visitor, table):
    table.write_text(table.read_text().replace("\n20,", "\nsecret-cell,", 1))
    key = visitor.walked(table)
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key) == "failed"
    page = visitor.get(f"{key}/fits/1").text
    assert "Nothing was spent" in page
    assert "secret-cell" not in page
    assert all(entry.status == "void" for entry in entries(visitor.site))


def test_a_table_that_was_swapped_is_not_fitted(visitor, table):
    key = visitor.walked(table)
    table.write_text("other,names\n1,2\n")
    assert "have changed since it was chosen" in shown(visitor.post(f"{key}/confirm", visitor.order(key)))
    table.unlink()
    assert "not there any more" in shown(visitor.post(f"{key}/confirm", visitor.order(key)))
    assert not entries(visitor.site)


def test_a_claim_without_a_process_is_a_fit_that_spent_nothing(visitor, table, monkeypatch):
    key = visitor.walked(table)
    monkeypatch.setattr("dpols.app.fits.Runner._spawn", lambda *_: None)  # as if killed right before it
    visitor.post(f"{key}/confirm", visitor.order(key))
    monkeypatch.undo()
    page = visitor.get(f"{key}/fits/1").text
    assert "gave no result" in page
    assert "Nothing was spent" in page
    assert visitor.order(key)["number"] == "2"
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key, 2) == "done"
    assert len(entries(visitor.site)) == 1


def test_a_fit_that_is_killed_leaves_its_reservation_and_says_how_to_give_it_back(visitor, table):
    key = visitor.walked(table)
    order = visitor.order(key)
    visitor.post(f"{key}/confirm", order)
    (child,) = visitor.site.runner._children
    for _ in range(400):
        if entries(visitor.site) or child.poll() is not None:
            break
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    fit = fit_of(visitor.site.projects.find("a-study"), 1)
    page = visitor.get(f"{key}/fits/1").text
    if fit.status == "failed":  # else it had ended before
        assert "dpols ledger void" in page
        assert [entry.status for entry in entries(visitor.site)] == ["open"]
    assert visitor.post(f"{key}/confirm", order).url.path == f"{key}/fits/1"
    assert len(entries(visitor.site)) == 1


def test_tables_that_are_sent_are_private_and_gone_at_the_end(tmp_path):
    code = """
import os, sys, tempfile
from dpols.app.server import private_folder
tempfile.tempdir = sys.argv[1]
with private_folder() as folder:
    assert os.stat(folder.path).st_mode & 0o777 == 0o700
    (folder.path / "table.csv").write_text("a,b")
    assert tempfile.gettempdir() == str(folder.path)
    print(folder.path, flush=True)
    if len(sys.argv) > 2:
        os.kill(os.getpid(), 9)
assert not folder.path.exists()
"""
    run = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(run, check=True, capture_output=True)
    assert list(tmp_path.iterdir()) == []
    killed = subprocess.run([*run, "kill"], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    subprocess.run(run, check=True, capture_output=True)  # the next one cleans up
    assert list(tmp_path.iterdir()) == []
