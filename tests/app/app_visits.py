"""A client of the app in this process, which fills in forms as a browser would; and what pages say."""

import re
import time
from html import unescape

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


def shown(answer):
    """The mistakes that a page shows."""
    found = re.search(r'<div class="problems".*?</div>', answer.text, re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", found[0])) if found else ""


def text_of(answer):
    """What a page says, without tags and line breaks."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())
