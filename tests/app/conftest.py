"""The app in this process, for quick tests, and in a real browser."""

import re
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

starlette = pytest.importorskip("starlette")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")

TOKEN, PORT = "a-token", 8123
ADDRESS = f"http://127.0.0.1:{PORT}"
CANARY = "73519.25"  # a cell that no page, message or log may show
ROWS = 400


class Visitor:
    """A client that is let in, and fills in forms."""

    def __init__(self, site):
        from starlette.testclient import TestClient

        from dpols.app.site import application

        self.site = site
        app = application(site, token=TOKEN, port=PORT)
        self.client = TestClient(app, base_url=ADDRESS, headers={"origin": ADDRESS})
        self.client.get(f"/?token={TOKEN}")

    def get(self, path, **more):
        return self.client.get(path, **more)

    def post(self, path, fields, **more):
        return self.client.post(path, data=fields, **more)

    def project(self, name="a study"):
        return self.post("/projects", {"name": name}).url.path.removesuffix("/data")

    def data(self, key, table, **more):
        fields = {
            "path": str(table),
            "rows": str(ROWS),
            "ledger_way": "new",
            "total_epsilon": "3",
            "total_delta": "1e-5",
        }
        return self.post(f"{key}/data", {**fields, **more})

    def model(self, key, **more):
        fields = {"target": "3", "kind": "number", "use-0": "number", "use-1": "number"}
        return self.post(f"{key}/model", {**fields, "use-2": "categories", "levels-2": "north, south", **more})

    def bounds(self, key, **more):
        fields = {"low-3": "0", "high-3": "100", "low-0": "18", "high-0": "90", "low-1": "0", "high-1": "60"}
        return self.post(f"{key}/bounds", {**fields, "way": "known", "origin": "the codebook", **more})

    def plan(self, key, **more):
        fields = {"epsilon": "1", "delta": "1e-6", "r_squared": "0.3", "bad_rows": "raise"}
        return self.post(f"{key}/plan", {**fields, **more})

    def walked(self, table, name="a study"):
        """Walk up to the page that asks whether to fit."""
        key = self.project(name)
        for step in (lambda: self.data(key, table), lambda: self.model(key), lambda: self.bounds(key)):
            assert step().status_code == 200
        assert self.plan(key).url.path == f"{key}/confirm"
        return key

    def order(self, key):
        """What the page that asks whether to fit would send."""
        page = self.get(f"{key}/confirm").text
        return dict(re.findall(r'name="(number|digest)" value="(\w+)"', page))

    def until_done(self, key, number=1):
        for _ in range(600):
            status = self.get(f"{key}/fits/{number}/state").json()["status"]
            if status != "running":
                return status
            time.sleep(0.1)
        raise AssertionError("the fit does not end")


@pytest.fixture
def table(tmp_path):
    """A mixed table with an id, whose pay follows from age, hours and region."""
    path = tmp_path / "staff.csv"
    lines = ["age,hours,region,pay,left,visits,person"]
    for i in range(ROWS):
        age, hours, south = 18 + i % 70, i % 61, i % 2
        pay = CANARY if i == 5 else f"{10 + age / 2 + hours / 3 + 5 * south:.2f}"
        lines.append(
            f"{age},{hours},{'south' if south else 'north'},{pay},{'yes' if age > 50 else 'no'},{i % 7},p{i // 2}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def site(tmp_path):
    from dpols.app.site import Site

    uploads = tmp_path / "uploads"
    uploads.mkdir()
    site = Site.of(tmp_path / "projects", uploads)
    yield site
    site.runner.wait()


@pytest.fixture
def visitor(site):
    return Visitor(site)


@pytest.fixture(scope="session")
def chromium():
    """A real browser."""
    from walk import QUIET, chromium

    sync_api = pytest.importorskip("playwright.sync_api")
    path = chromium()
    if path is None:
        pytest.skip("needs a Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield found
        found.close()
