"""``dpols verify page.html``: what a person reads on a page is what its data says."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dpols import Bounds, BudgetLedger, PrivateLinearRegression
from dpols.errors import ModelFileError
from dpols.verification import verify_file, verify_report


def fitted(unsafe=False, ledger=None, **more):
    X = np.random.default_rng(0).uniform(-1, 1, size=(3000, 2))
    y = X @ [0.3, 0.2]
    bounds = Bounds(features=[(-1, 1)] * 2, target=(-1, 1))
    if unsafe:
        bounds = Bounds.from_data(X, target=y, unsafe_from_data=True)
    return PrivateLinearRegression(1.0, 1e-6, bounds, ledger=ledger, **more).fit(X, y)


@pytest.fixture(scope="module")
def report():
    return fitted().privacy_report_


@pytest.fixture(scope="module")
def void():
    return fitted(unsafe=True).privacy_report_


def findings(page, path):
    path.write_text(page, encoding="utf-8")
    return {finding.what: finding for finding in verify_file(path)}


def differs(page, path):
    """Whether a page is found to be changed."""
    found = findings(page, path)["page as shown"]
    return not found.holds and found.about == "accounting" and "was changed" in found.detail


def first(pattern, replacement):
    """Change what a pattern finds first in the visible part of a page."""

    def change(page):
        visible, data = page.split('<script type="application/json"')
        changed, count = re.subn(pattern, replacement, visible, count=1)
        assert count == 1
        return changed + '<script type="application/json"' + data

    return change


CHANGES = {
    "epsilon in the summary": first("epsilon = 1 ", "epsilon = 0.01 "),
    "epsilon in the table": first("<td>epsilon = 1, ", "<td>epsilon = 0.01, "),
    "delta": first("1e-06", "1e-60"),
    "a coefficient": first(r'(<td class="number">)0\.\d', r"\g<1>7.7"),
    "the number of rows": first("3,000 rows", "3,000,000 rows"),
    "the verdict": first("better than|cannot tell", "far better than"),
    "a probability": first(r"<b>\d\d\.\d\d%</b>", "<b>50.01%</b>"),
    "the width of a bar": first(r"width:[\d.]+%", "width:1%"),
    "text that is added": first("</h1>", "</h1><p>Approved.</p>"),
    "text that is hidden": first("</h1>", '</h1><p style="display:none">x</p>'),
    "a comment": first("</h1>", "</h1><!-- nothing -->"),
    "style that hides": first("</style>", ".caution,.alarm{display:none}</style>"),
    "a second style": first("</head>", "<style>p{opacity:0}</style></head>"),
    "an attribute that hides": first("<h2>", "<h2 hidden>"),
    "a script": first("</body>|</head>", "<script>document.body.innerHTML=''</script></head>"),
    "a link to a style": first("</head>", '<link rel="stylesheet" href="x.css"></head>'),
    "what stands after the end": lambda page: page + "<p>epsilon = 0.01</p>",
    "what stands before the beginning": lambda page: "<p>epsilon = 0.01</p>" + page,
    "a byte order mark": lambda page: "\ufeff" + page,
    "space at the end of a line": lambda page: page.replace("</h1>\n", "</h1> \n", 1),
    "a zero that looks like one": first("3,000 rows", "3,00\u041e rows"),
    "an invisible letter": first("epsilon = 1", "epsilon = 0\u200b.1"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_page_that_was_changed_is_found(report, name, tmp_path):
    page = report.to_html()
    assert findings(page, tmp_path / "page.html")["page as shown"].holds
    assert differs(CHANGES[name](page), tmp_path / "page.html")


def test_the_line_not_private_cannot_be_taken_off_or_hidden(void, tmp_path):
    page = void.to_html()
    assert findings(page, tmp_path / "page.html")["page as shown"].holds
    for change in (
        first('<p class="alarm">.*?</p>', ""),
        first("NOT PRIVATE", "PRIVATE"),
        first('class="alarm"', 'class="alarm" hidden'),
        first("</style>", ".alarm{display:none}</style>"),
        first("This fit is not private, so that none of this holds for it.", "All of this holds."),
    ):
        assert differs(change(page), tmp_path / "page.html")


def test_another_report_inside_a_page_does_not_pass_for_it(report, void, tmp_path):
    """What a program reads first, and what is shown, must be one."""
    data = void.to_html().split("</body>")[0].rpartition("<script")[2]
    inside = report.to_html().replace("</h1>", f"</h1><script{data}", 1)
    assert differs(inside, tmp_path / "page.html")
    swapped = report.to_html().rpartition("<script")[0] + "<script" + data + "</body>\n</html>\n"
    assert differs(swapped, tmp_path / "page.html")


def test_a_json_report_that_quotes_a_page_is_not_read_as_that_page(report, tmp_path):
    data = report.to_dict() | {"verdict": report.to_html(), "spent_epsilon": 9.0}
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data))
    assert next(finding.what for finding in verify_file(path) if not finding.holds) == "epsilon spent"


@pytest.mark.parametrize("name", ["a\rb", "a\r\nb", "a\u2028b"])
def test_a_page_is_read_as_it_was_written_whatever_ends_lines_in_its_names(name, tmp_path):
    X = np.linspace(-1, 1, 300)[:, None]
    bounds = Bounds(features=[(-1, 1)], target=(-1, 1))
    report = PrivateLinearRegression(1.0, 1e-6, bounds, method="adassp").fit(X, X[:, 0]).privacy_report_
    page = replace(report, bounds=((name, "[-1, 1]"),)).to_html()
    path = tmp_path / "page.html"
    path.write_bytes(page.encode())
    assert all(finding.holds for finding in verify_file(path))
    path.write_bytes(page.replace("\n", "\r\n").encode())
    assert not all(finding.holds for finding in verify_file(path))


@pytest.mark.parametrize("name", ["report.html", "report.HTM", "report.xhtml"])
def test_json_under_the_name_of_a_page_is_not_a_page(report, name, tmp_path):
    """A browser would show what its values say."""
    path = tmp_path / name
    path.write_text(json.dumps(report.to_dict() | {"verdict": "<h1>epsilon = 0.01</h1><!--"}))
    with pytest.raises(ModelFileError, match="not a page written by dpols"):
        verify_file(path)


def written_by(report, version, **more):
    """A page as another version might have written it: with other words, and perhaps with other fields."""
    data = report.to_dict() | {"versions": [["dpols", version], ["python", "3.11"]]} | more
    page = report.to_html().replace("What it cost", "The cost")
    before, _, _ = page.partition('<script type="application/json" id="privacy-report">')
    return (
        f'{before}<script type="application/json" id="privacy-report">\n{json.dumps(data)}\n</script>\n</body></html>'
    )


@pytest.mark.parametrize("more", [{}, {"dependent_variable": "pay"}, {"relation": "add-one"}, {"lines": "gone"}])
def test_a_page_of_another_version_cannot_be_checked_and_is_no_forgery(report, more, tmp_path):
    found = findings(written_by(report, "7.0.0", **more), tmp_path / "page.html")
    assert not found["page as shown"].holds
    assert {finding.about for finding in found.values() if not finding.holds} == {"unchecked"}
    assert "cannot be checked: it was written by dpols '7.0.0'" in found["page as shown"].detail


def test_a_page_of_another_version_is_not_private_where_it_says_so(void, tmp_path):
    for more in ({}, {"lines": "gone"}):
        found = findings(written_by(void, "7.0.0", **more), tmp_path / "page.html")
        assert not found["private as configured"].holds


def test_a_field_that_is_there_twice_is_refused(report, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(report.to_json().replace('"spent_epsilon"', '"spent_epsilon": 0.01,\n  "spent_epsilon"', 1))
    with pytest.raises(ModelFileError):
        verify_file(path)


def test_a_ledger_remembers_that_a_fit_is_not_private(tmp_path):
    ledger = BudgetLedger(tmp_path / "ledger", epsilon=5.0, delta=1e-4)
    for more in ({"unsafe": True}, {"random_state": 0}):
        data = fitted(ledger=ledger, **more).privacy_report_.to_dict()
        forged = data | {"bounds_origin": "declared", "seeded": False, "private": True}
        found = {finding.what: finding for finding in verify_report(forged, ledger=ledger)}
        assert [what for what, finding in found.items() if not finding.holds] == ["charged to the ledger"]
        assert "says that the fit is NOT PRIVATE" in found["charged to the ledger"].detail


@pytest.mark.extras
def test_the_command_has_an_exit_code_for_each_case(report, void, dpols, tmp_path):
    pytest.importorskip("typer")
    pages = {
        "good": (report.to_html(), 0, "OK"),
        "changed": (CHANGES["epsilon in the table"](report.to_html()), 1, "NOT OK"),
        "void": (void.to_html(), 3, "NOT PRIVATE"),
        "other": (written_by(report, "7.0.0"), 4, "CANNOT BE CHECKED"),
    }
    for name, (page, code, words) in pages.items():
        (tmp_path / f"{name}.html").write_text(page)
        done = dpols("verify", tmp_path / f"{name}.html")
        assert (done.code, done.out.splitlines()[-1].startswith(words)) == (code, True)
        answer = json.loads(dpols("verify", tmp_path / f"{name}.html", "--json").out)
        assert answer["ok"] is (code == 0)
        assert answer["all_checked"] is (code != 4)
