"""Who may talk to the app: this machine's user, through the browser that was given the token, and no other page.

- Host: only this address, so that a name that is made to point here (DNS rebinding) is refused.
- Token: random, in the first address only; a cookie that scripts cannot read stands for it afterwards.
- Origin: what changes anything must come from a page of the app (cross-site request forgery).
- Content security policy: nothing is loaded from elsewhere, and no script but ours runs, whatever a column is called.
"""

import hmac
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_FORM = 2 << 20  # bytes, of all that is sent but tables
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src {style}; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
STRICT = _POLICY.format(style="'self'")
OF_A_REPORT = _POLICY.format(style="'unsafe-inline'").replace("script-src 'self'", "script-src 'none'")
_HEADERS = {
    "content-security-policy": STRICT,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers would send no origin
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_ASK = (
    "This is a private page. Open it by the link that 'dpols app' printed where it was started: the link carries a "
    "token, and your browser has none, or an old one."
)


class Guard:
    """Lets requests through that have the right host, token and origin; others get one sentence, and no page."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"dpols-{port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None  # no web sockets
        answer = self._refusal(scope)
        await (answer or self.app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            return PlainTextResponse("This host name is not that of the app. Use 127.0.0.1.", 400)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given and scope["method"] == "GET" and self._is_token(given[0]):
            return self._let_in(scope["path"], by_link=_from_here(headers))
        if not self._is_token(_cookie(headers.get("cookie", ""), self.cookie)):
            return PlainTextResponse(_ASK, 403)
        if not _from_here(headers):
            return PlainTextResponse("This request comes from another site, so it was refused.", 403)
        if scope["method"] not in ("GET", "HEAD"):
            if headers.get("origin") != f"http://{host}":
                return PlainTextResponse("This request does not come from a page of the app, so it was refused.", 403)
            table = headers.get("content-type", "").startswith("multipart/form-data")
            if not table and not _is_short(headers.get("content-length")):
                return PlainTextResponse("This form is too long.", 413)
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _let_in(self, path: str, *, by_link: bool) -> Response:
        """Put the token into a cookie, and go on without it in the address, where others could read it.

        Who comes from another page, such as the file that opens the app, goes on from a page of the app: a browser
        would not send the cookie after a redirect.
        """
        path = path if path.startswith("/") and not path.startswith("//") else "/"
        answer = RedirectResponse(path, 303) if by_link else HTMLResponse(leading_to(quote(path)))
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return answer


def leading_to(address: str) -> str:
    """Return a page that leads to an address at once."""
    return f'<!doctype html><title>dpols</title><meta http-equiv="refresh" content="0;url={escape(address)}">\n'


def _from_here(headers: Headers) -> bool:
    """Return whether a request comes from a page of the app, or from no page."""
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _is_short(length: str | None) -> bool:
    return length is not None and length.isdecimal() and int(length) <= LONGEST_FORM


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _with_headers(send: Send) -> Send:
    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with


def report_headers() -> dict[str, Any]:
    """Return the headers of a report, which has its style inside and no script."""
    return {"content-security-policy": OF_A_REPORT}
