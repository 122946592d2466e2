"""Only the browser that has the token is answered, and only by pages of the app; nothing is loaded from elsewhere."""

import re
import socket
import stat
from threading import Event

import pytest
from app_visits import ADDRESS, PORT, TOKEN, Visitor
from starlette.testclient import TestClient

from dpols.app.guard import LONGEST_FORM
from dpols.app.server import HOST, _link_page, _listening, _started
from dpols.app.site import application

pytestmark = pytest.mark.extras


@pytest.fixture
def stranger(site):
    """A client without the cookie."""
    return TestClient(application(site, token=TOKEN, port=PORT), base_url=ADDRESS)


def test_the_server_listens_on_this_machine_only():
    with _listening(None) as listener:
        assert listener.getsockname()[0] == HOST == "127.0.0.1"
        assert listener.family == socket.AF_INET


@pytest.mark.parametrize("path", ["/", "/p/demo/data", "/static/app.js", "/?token=wrong", "/nothing"])
def test_without_the_token_there_is_no_page(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "token" in answer.text
    assert "<" not in answer.text


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(stranger):
    answer = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert f"dpols-{PORT}={TOKEN}" in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/").status_code == 200


def test_the_page_that_opens_the_app_leads_in_and_no_other_user_reads_it(stranger, tmp_path):
    address = f"{ADDRESS}/?token={TOKEN}"
    with _link_page(tmp_path / "projects", address) as page:
        assert TOKEN not in str(page)
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert f"url={address}" in page.read_text()
    assert not page.exists()
    # A cookie that other sites do not get is not sent after a redirect either, where the first page is another one.
    answer = stranger.get(f"/?token={TOKEN}", headers={"sec-fetch-site": "cross-site"}, follow_redirects=False)
    assert answer.status_code == 200
    assert 'content="0;url=/"' in answer.text
    assert stranger.get("/", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_the_browser_is_started_without_the_token(monkeypatch, tmp_path):
    opened, done = [], Event()
    monkeypatch.setattr("webbrowser.open", lambda address: (opened.append(address), done.set()))
    _started(f"{ADDRESS}/?token={TOKEN}", tmp_path, tmp_path / "open.html", lambda _: None)
    assert done.wait(10)
    assert opened == [(tmp_path / "open.html").as_uri()]


@pytest.mark.parametrize("path", ["//evil.example/", "//evil.example/p"])
def test_the_token_does_not_lead_elsewhere(stranger, path):
    answer = stranger.get(f"{ADDRESS}{path}?token={TOKEN}", follow_redirects=False)
    assert not answer.headers.get("location", "/").startswith("//")


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_another_host_name_is_refused(visitor, host):
    answer = visitor.get("/", headers={"host": host})
    assert answer.status_code == 400
    assert "127.0.0.1" in answer.text


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", ""])
def test_a_form_of_another_page_changes_nothing(visitor, origin):
    answer = visitor.post("/projects", {"name": "x"}, headers={"origin": origin})
    assert answer.status_code == 403
    assert not list(visitor.site.projects.all())


def test_a_form_without_an_origin_changes_nothing(visitor):
    del visitor.client.headers["origin"]
    assert visitor.post("/projects", {"name": "x"}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_other_sites_are_refused(visitor, site):
    assert visitor.get("/", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/style.css"])
def test_every_answer_forbids_scripts_and_requests_of_others(visitor, path):
    headers = visitor.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_a_long_form_is_refused(visitor):
    answer = visitor.post("/projects", {"name": "x" * (LONGEST_FORM + 1)})
    assert answer.status_code == 413


def test_pages_have_no_script_and_no_style_of_their_own(visitor, table):
    key = visitor.walked(table)
    for step in ("", "/data", "/model", "/bounds", "/plan", "/confirm", "/history"):
        page = visitor.get(f"{key}{step}").text
        assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/app.js" defer>']
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
        assert set(re.findall(r'(?:src|href)="(\w+:[^"]*)"', page)) <= {"data:,"}


def test_another_token_is_another_app(site):
    first, second = Visitor(site), TestClient(application(site, token="other", port=PORT), base_url=ADDRESS)
    cookie = first.client.cookies[f"dpols-{PORT}"]
    assert second.get("/", headers={"cookie": f"dpols-{PORT}={cookie}"}).status_code == 403
