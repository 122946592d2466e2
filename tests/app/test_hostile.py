"""Tables that are none, or mean harm: nothing of them runs, and nothing of their cells is shown."""

import gzip
import re

import pytest
from app_visits import ADDRESS, CANARY, PORT, TOKEN, Visitor, shown
from starlette.testclient import TestClient

from dpols.app.site import application

pytestmark = pytest.mark.extras

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "--help",
    "a' OR 1=1; --",
    "javascript:alert(1)",
    "$(touch harmed)",
)


def test_hostile_column_names_are_shown_as_text_and_can_be_fitted(visitor, tmp_path):
    path = tmp_path / "hostile.csv"
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in HOSTILE)
    rows = [f"{i % 7},{i % 5},{i % 3},{i % 11},{i % 2},{i % 4},{i % 6}" for i in range(300)]
    path.write_text("\n".join((quoted, *rows)) + "\n")
    key = visitor.project(HOSTILE[0])
    assert visitor.data(key, path).status_code == 200
    uses = {f"use-{i}": "number" for i in range(1, len(HOSTILE))}
    visitor.post(f"{key}/model", {"target": "0", "kind": "number", **uses, "left-0": "1", "right-0": "3"})
    limits = {f"{end}-{i}": value for i in range(len(HOSTILE)) for end, value in (("low", "0"), ("high", "12"))}
    assert visitor.post(f"{key}/bounds", {**limits, "origin": HOSTILE[0], "way": "known"}).status_code == 200
    visitor.plan(key)
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key) == "done"
    pages = [visitor.get(f"{key}/{step}").text for step in ("data", "model", "bounds", "plan", "confirm", "fits/1")]
    pages += [visitor.get("/").text, visitor.get(f"{key}/fits/1/files/report.html?look=yes").text]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "49" not in re.findall(r"\{\{.*?\}\}", page)
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in page for page in pages)
    assert not list(tmp_path.rglob("harmed"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "empty.csv"),
        ("picture.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), "cannot be"),
        ("page.csv", b"<html><body>no table</body></html>", "one column"),
        ("rows.csv", f"12,{CANARY}\n13,14\n".encode(), "has numbers, as a row of data has"),
        ("unnamed.csv", b"a,,c\n1,2,3\n", "cannot be"),
        ("letters.csv", f"{'x' * 300},b\n1,2\n".encode(), "longer than 200 letters"),
        ("wide.csv", (",".join(f"c{i}" for i in range(5000)) + "\n").encode(), "5,000 columns"),
        ("bad.parquet", b"PAR1 not really", "bad.parquet"),
        ("bad.xlsx", b"PK no zip", "cannot be read"),
        ("bad.feather", CANARY.encode(), "bad.feather"),
        ("bad.csv.gz", CANARY.encode(), "bad.csv.gz"),
        ("bomb.csv.gz", gzip.compress(b"a" * 5_000_000), "has a first line that is not CSV"),
        ("table.exe", CANARY.encode(), "must end in"),
        ("notes.json", CANARY.encode(), "must end in"),
    ],
)
def test_a_file_that_is_no_table_is_refused_without_showing_it(visitor, tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    key = visitor.project()
    answer = visitor.data(key, path)
    assert answer.status_code == 422
    assert said in shown(answer)
    assert CANARY not in answer.text
    assert visitor.site.projects.find(key.rpartition("/")[2]).choices().data is None


def test_a_table_that_is_sent_keeps_neither_its_path_nor_its_place(visitor, table):
    key = visitor.project()
    fields = {"rows": "400", "ledger_way": "new", "total_epsilon": "3", "total_delta": "1e-5"}
    sent = {"upload": ("../../../../etc/staff.csv", table.read_bytes())}
    answer = visitor.client.post(f"{key}/data", data=fields, files=sent)
    assert answer.url.path == f"{key}/model"
    (kept,) = visitor.site.uploads.rglob("*.csv")
    assert kept.name == "staff.csv"
    assert kept.read_bytes() == table.read_bytes()
    project = visitor.site.projects.find(key.rpartition("/")[2])
    assert project.choices().data.uploaded
    visitor.model(key)
    visitor.bounds(key)
    visitor.plan(key)
    kept.unlink()
    assert "not there any more" in visitor.get(f"{key}/data").text


@pytest.mark.parametrize("key", ["..", "../..", "%2e%2e", "nothing", "a%00b", "demo/../../x"])
def test_no_address_leads_out_of_the_folder(visitor, key):
    assert visitor.get(f"/p/{key}/data").status_code == 404


@pytest.mark.parametrize(
    "name", ["request.json", "../1/messages.txt", "..%2f..%2fproject.json", "lock", "messages.txt"]
)
def test_no_other_file_is_served(visitor, table, name):
    key = visitor.walked(table)
    assert visitor.get(f"{key}/fits/1/files/{name}").status_code == 404


def test_what_is_unexpected_shows_and_prints_no_cell(site, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError(f"cannot convert {CANARY}")

    visitor = Visitor(site)
    key = visitor.project()
    monkeypatch.setattr("dpols.app.data_page.header_of", fail)
    client = TestClient(application(site, token=TOKEN, port=PORT), base_url=ADDRESS, headers={"origin": ADDRESS})
    client.get(f"/?token={TOKEN}")
    answer = client.post(f"{key}/data", data={"path": "/", "rows": "3"})
    assert answer.status_code == 500
    printed = capsys.readouterr()
    assert "RuntimeError" in answer.text
    assert "RuntimeError" in printed.out
    assert CANARY not in answer.text + printed.out + printed.err


def test_damaged_projects_do_not_break_the_others(visitor, table, tmp_path):
    good, bad = visitor.project("good"), visitor.project("bad")
    (tmp_path / "projects" / "bad" / "project.json").write_text("{}")
    page = visitor.get("/")
    assert page.status_code == 200
    assert "is damaged" in page.text
    assert visitor.get(f"{good}/data").status_code == 200
    assert visitor.get(f"{bad}/data").status_code == 422
    assert visitor.data(good, table).status_code == 200
