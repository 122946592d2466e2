"""How long the app takes: from the command to its first page, for every page, and for a plan.

Run it as ``python tests/app/times.py`` on a machine that does nothing else. It prints seconds by the clock, processor
time of the server and the limit, and fails where the clock exceeds it. On a busy machine, look at processor time.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

sys.path.insert(0, str(Path(__file__).parent))

from app_walk import App

FIRST, PAGE, PLAN = 1.0, 0.2, 2.0
PAGES = ("", *(f"p/demo/{step}" for step in ("data", "model", "bounds", "plan", "confirm", "history")))
KINDS = {
    "number": {"target": "4", "kind": "number"},
    "yes-no": {"target": "5", "kind": "yes-no", "no": "no", "yes": "yes"},
    "count": {"target": "6", "kind": "count"},
}
_TICKS = os.sysconf("SC_CLK_TCK")


class Client:
    """A client that was let in, and times what it is answered."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self.opener.addheaders = [("Origin", app.address)]
        self.opener.open(app.link).read()

    def get(self, path: str) -> str:
        return self.opener.open(f"{self.app.address}/{path}").read().decode()

    def post(self, path: str, fields: dict[str, str]) -> None:
        self.opener.open(f"{self.app.address}/{path}", urlencode(fields).encode()).read()

    def processor(self) -> float:
        """Processor time of the server so far."""
        parts = Path(f"/proc/{self.app.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / _TICKS

    def timed(self, work: Callable[[], object]) -> tuple[float, float]:
        start, busy = time.perf_counter(), self.processor()
        work()
        return time.perf_counter() - start, self.processor() - busy


def planned(client: Client, epsilon: str) -> None:
    """Ask for the picture of a plan until it is complete, as the page does."""
    fields = {"epsilon": epsilon, "delta": "1/n^2", "r_squared": "0.31", "inference": "yes", "bad_rows": "raise"}
    while 'data-done="yes"' not in client.get(f"p/demo/plan/picture?{urlencode(fields)}"):
        time.sleep(0.1)


def measured(folder: Path) -> list[tuple[str, float, float, float]]:
    """Return what was measured: clock, processor, limit."""
    App(folder, "--demo").stop()  # makes the table of the demonstration
    start = time.perf_counter()
    app = App(folder)
    client = Client(app)
    rows = [("first page, from the command", time.perf_counter() - start, client.processor(), FIRST)]
    time.sleep(5.0)  # what later pages need is imported meanwhile
    for path in PAGES:
        client.get(path)
        rows.append((f"/{path}", *min(client.timed(lambda path=path: client.get(path)) for _ in range(5)), PAGE))
    features = {"use-0": "number", "use-1": "number", "use-2": "categories", "use-3": "categories"}
    levels = {"levels-2": "north, south, east, west", "levels-3": "permanent, temporary"}
    for kind, fields in KINDS.items():
        client.post("p/demo/model", {**fields, **features, **levels})
        rows.append((f"plan with intervals, {kind}", *client.timed(lambda: planned(client, "1")), PLAN))
    app.stop()
    return rows


def main() -> None:
    """Measure, print and judge."""
    with tempfile.TemporaryDirectory() as work:
        rows = measured(Path(work) / "projects")
    print(f"{'what':<32}{'clock':>9}{'processor':>11}{'limit':>7}")
    for what, clock, processor, limit in rows:
        print(f"{what:<32}{clock:>8.3f}s{processor:>10.2f}s{limit:>6.1f}s{'' if clock <= limit else '  too slow'}")
    sys.exit(any(clock > limit for _, clock, _, limit in rows))


if __name__ == "__main__":
    main()
