"""The app in a real Chromium: the whole walk, mistakes, windows, reloads, a killed server, and keys alone."""

import os
import re
import signal
import time
from datetime import date

import pytest
from app_visits import CANARY
from app_walk import App, Walk, running_app

from dpols.ledger import BudgetLedger

pytestmark = pytest.mark.extras

RANGES = {"age": (18, 90), "hours": (0, 60)}


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    app = App(tmp_path_factory.mktemp("app") / "projects", "--demo")
    yield app
    assert CANARY not in app.stop()


@pytest.fixture(scope="module")
def demo_fits(chromium, app):
    """Fits of the demonstration with intervals, one for each kind of outcome: 1, 2 and 3."""
    page = chromium.new_page()
    page.goto(app.link)
    for target, kind in (("pay", "number"), ("left_within_a_year", "yes-no"), ("sick_days", "count")):
        assert "Result" in Walk(page, app).demo_fit(target, kind).heading
    page.close()
    return {"number": 1, "yes-no": 2, "count": 3}


@pytest.fixture
def window(chromium, app):
    """A window that was let in, and what it asked for beyond the app."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.elsewhere, page.said = [], []
    page.on("request", lambda r: None if r.url.startswith(app.address) else page.elsewhere.append(r.url))
    page.on("console", lambda message: page.said.append(message.text))
    page.goto(app.link)
    yield page
    assert not [url for url in page.elsewhere if not url.startswith("data:")]
    context.close()


def ledger_of(app, key):
    return BudgetLedger(app.folder / key / "budget.ledger")


def to_confirm(window, app, table, name):
    walk = Walk(window, app).project(name).data(table, 400)
    walk.model("pay", numbers=("age", "hours"), categories={"region": "north, south"})
    return walk.bounds({"pay": (0, 100), **RANGES}).plan("1", intervals=False)


def test_the_whole_walk_on_a_mixed_table(window, app, table):
    walk = Walk(window, app).project("whole walk").data(table, 400)
    assert walk.heading == "Model"
    walk.model("pay", numbers=("age", "hours"), categories={"region": "north, south"})
    window.locator("#high-3").fill("100")
    window.locator("#low-3").fill("0")
    for name, (low, high) in RANGES.items():
        walk.row(name).get_by_label("Low").fill(str(low))
        walk.row(name).get_by_label("High").fill(str(high))
    window.wait_for_selector("#advice :text('standard deviations')")
    walk.go_on()
    assert walk.heading == "Plan"
    window.wait_for_selector("#picture [data-done=yes]")
    before = window.locator("#picture").inner_text()
    window.locator("#slider").evaluate("e => { e.value = 10; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    window.wait_for_function("before => document.querySelector('#picture').innerText !== before", arg=before)
    assert window.get_by_label("Epsilon of this fit").input_value() == "0.085"
    walk.plan("1").fit()
    assert walk.heading == "Result of fit 1"
    window.get_by_label("age", exact=True).fill("40")
    window.get_by_label("hours", exact=True).fill("30")
    window.get_by_role("button", name="Predict").click()
    assert re.search(r"predicted: -?\d", window.locator("output").inner_text())
    with window.expect_download() as found:
        window.get_by_role("link", name="model.json").click()
    assert '"coef"' in found.value.path().read_text()
    assert CANARY not in window.content()
    assert [entry.status for entry in ledger_of(app, "whole-walk").entries()] == ["spent"]
    assert not [text for text in window.said if "Content Security Policy" in text or "Error" in text]


def test_ten_mistakes_are_each_said_and_cost_nothing(window, app, table):
    walk = Walk(window, app).project(" ")
    assert "has no name" in walk.problems
    walk.project("mistakes").data("/no/such/file.csv", 400)
    assert "There is no file" in walk.problems
    walk.data(table, 0)
    assert "number of rows" in walk.problems
    walk.data(table, 400, epsilon="many")
    assert "must be a number" in walk.problems
    walk.data(table, 400)
    walk.go_on()
    assert "No outcome was chosen" in walk.problems
    walk.model("pay", categories={"region": "north"})
    assert "needs its categories" in walk.problems
    walk.model("pay", numbers=("age", "pay"), categories={"region": "north, south"})
    assert "is the outcome" in walk.problems
    walk.row("pay").get_by_label("Use it").select_option("")
    walk.go_on().bounds({"pay": (0, 100), "age": (90, 18)})
    assert "high must be above low" in walk.problems
    walk.bounds({"pay": (0, "a lot"), "age": (18, 90)})
    assert "is no number" in walk.problems
    window.locator("#problems a").click()
    assert window.evaluate("document.activeElement.id") == "high-3"
    walk.bounds({"pay": (0, 100)}).plan("0", intervals=False)
    assert "Epsilon must lie between" in walk.problems
    assert not ledger_of(app, "mistakes").entries()


def test_a_ledger_that_the_app_cannot_charge_is_refused_at_once(window, app, table, tmp_path):
    ledger = tmp_path / "unknown rows.ledger"
    BudgetLedger(ledger, epsilon=1.0, delta=1e-6, neighbours="add-remove")
    walk = Walk(window, app).project("other ledger")
    window.locator("#ledger_way-existing").check()
    window.locator("#ledger_path").fill(str(ledger))
    window.get_by_label("Path of a file on this machine").fill(str(table))
    window.get_by_label("About how many rows").fill("400")
    walk.go_on()
    assert "keeps the number of rows private" in walk.problems


def test_two_windows_a_double_click_reload_and_back_spend_once(window, app, table):
    to_confirm(window, app, table, "two windows")
    second = window.context.new_page()
    second.goto(window.url)
    window.get_by_role("button", name="Fit now, and spend").dblclick()
    second.get_by_role("button", name="Fit now, and spend").click()
    for page in (window, second):
        Walk(page, app).until_done()
        assert page.url.endswith("/fits/1")
    window.reload()
    window.go_back()
    window.wait_for_load_state()
    assert "Making it again spends the budget again" in window.content()
    window.go_forward()
    assert len(ledger_of(app, "two-windows").entries()) == 1


def test_a_killed_server_loses_nothing_and_spends_nothing_twice(chromium, tmp_path, table):
    app = App(tmp_path / "projects")
    context = chromium.new_context()
    page = context.new_page()
    page.goto(app.link)
    to_confirm(page, app, table, "killed")
    page.get_by_role("button", name="Fit now, and spend").click()
    page.wait_for_url("**/fits/1")
    app.kill()
    with running_app(tmp_path / "projects") as again:
        page.goto(again.link)
        page.goto(f"{again.address}/p/killed/fits/1")
        walk = Walk(page, again).until_done()
        assert walk.heading == "Result of fit 1"
        (entry,) = ledger_of(again, "killed").entries()
        assert entry.status == "spent"
    context.close()


def test_keys_alone_lead_through_a_form(window, app, table):
    walk = Walk(window, app)
    window.goto(app.address)
    for _ in range(40):
        window.keyboard.press("Tab")
        if window.evaluate("document.activeElement.id") == "name":
            break
    window.keyboard.type("by keys")
    window.keyboard.press("Enter")
    window.wait_for_url("**/data")
    seen = []
    for _ in range(60):
        window.keyboard.press("Tab")
        here = window.evaluate("document.activeElement.id || document.activeElement.textContent")
        seen.append(here)
        if here == "path":
            window.keyboard.type(str(table))
        elif here == "rows":
            window.keyboard.type("400")
        elif "Read the header" in here:
            window.keyboard.press("Enter")
            break
    window.wait_for_url("**/model")
    assert walk.heading == "Model"
    assert {"path", "upload", "rows", "unit", "ledger_way-new", "total_epsilon"} <= set(seen)


def test_keys_alone_lead_to_a_result(chromium, tmp_path):
    with running_app(tmp_path / "projects", "--demo") as own:
        page = chromium.new_page()
        page.goto(own.link)
        for stop, address in (("demo", "plan"), ("Go on, and look at it", "confirm"), ("Fit now, and spend", "fits/1")):
            tab_to(page, stop)
            page.keyboard.press("Enter")
            page.wait_for_url(f"**/{address}")
        assert Walk(page, own).until_done().heading == "Result of fit 1"
        tab_to(page, "Open the report")
        tab_to(page, "x-0")
        page.keyboard.type("40")
        tab_to(page, "x-1")
        page.keyboard.type("38")
        page.keyboard.press("Enter")
        page.wait_for_selector("output")
        tab_to(page, "registry.yaml")
        page.close()


def tab_to(page, wanted):
    """Press Tab until an element of this id or text has the focus, which must be seen and not lie under the header."""
    for _ in range(80):
        page.keyboard.press("Tab")
        place = page.evaluate(FOCUS)
        if place["id"] == wanted or place["text"].startswith(wanted):
            assert place["outlined"]
            assert place["uncovered"], place
            return
    raise AssertionError(f"{wanted} cannot be reached by keys")


FOCUS = """() => {
  const here = document.activeElement, box = here.getBoundingClientRect(), style = getComputedStyle(here);
  const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return {
    id: here.id, text: here.innerText.trim(), outlined: style.outlineStyle !== "none" && style.outlineWidth !== "0px",
    uncovered: top !== null && (here.contains(top) || top.contains(here)),
  };
}"""


# Words that are on two lines; what has no place to break at, such as a path or a hash, may be.
BROKEN_WORDS = """() => {
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("script, style, code, pre, option, details:not([open])")) continue;
    for (const word of node.data.matchAll(/[A-Za-z]{2,}/g)) {
      const before = node.data.slice(0, word.index).match(/\\S*$/)[0];
      const after = node.data.slice(word.index).match(/^\\S*/)[0];
      if (before.length + after.length > 25) continue;
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (tops.size > 1) found.push(word[0]);
    }
  }
  return found;
}"""
_REPORT = "/files/report.html?look=yes"
COLOURS = {"runOnly": ["color-contrast"]}  # all in which pages differ between the schemes
PAGES = ("", "p/demo/data", "p/demo/model", "p/demo/bounds", "p/demo/plan", "p/demo/confirm", "p/demo/history")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits_a_phone(chromium, app, demo_fits, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(app.link)
    results = [f"p/demo/fits/{number}{more}" for number in demo_fits.values() for more in ("", _REPORT)]
    for path in (*PAGES, *results, "p/demo/fits/1/registry"):
        page.goto(f"{app.address}/{path}")
        if path.endswith("plan"):
            page.wait_for_selector("#picture [data-done=yes]")
        found = axe.run(page, options={"resultTypes": ["violations"], **(COLOURS if scheme == "dark" else {})})
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        assert page.evaluate(BROKEN_WORDS) == [], path
    context.close()


@pytest.mark.parametrize(
    ("kind", "target"), [("number", "pay"), ("yes-no", "left_within_a_year"), ("count", "sick_days")]
)
def test_a_report_of_a_small_model_prints_on_two_pages(chromium, app, demo_fits, kind, target):
    page = chromium.new_page()
    page.goto(app.link)
    page.goto(f"{app.address}/p/demo/fits/{demo_fits[kind]}{_REPORT}")
    assert page.locator("h1").inner_text() == f"Privacy report: {target}"
    top = page.locator("main").inner_text()
    verdict, intervals = top.index("predicting a constant"), top.index("What came out")
    assert verdict < intervals < top.index("What is protected")
    assert page.locator(".bars").bounding_box()["y"] < page.locator("table").first.bounding_box()["y"]
    for fact in ("staff.csv", f"{target} ~ age + hours + region + contract", "20,000", date.today().isoformat()[:7]):
        assert fact in top
    meaning = {"number": "", "yes-no": "the log-odds of a yes (yes)", "count": "the logarithm of the mean count"}
    assert meaning[kind] in top
    printed = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm"))
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    page.close()


def test_pages_come_quickly_and_the_first_one_too(window, app):
    def seconds(path):
        start = time.perf_counter()
        window.goto(f"{app.address}/{path}")
        return time.perf_counter() - start

    for path in PAGES:
        seconds(path)
        assert min(seconds(path) for _ in range(3)) < 1.0, path  # 0.2 on a quiet machine


def test_ctrl_c_ends_the_app_and_its_private_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    app = App(tmp_path / "projects")
    assert len(list((tmp_path / "t").glob("dpols-app-*"))) == 1
    os.kill(app.process.pid, signal.SIGINT)
    app.process.wait(timeout=30)
    assert not list((tmp_path / "t").glob("dpols-app-*"))
