"""Pages from templates: escaped, complete, of one style, and asking for nothing."""

import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from jinja2 import TemplateNotFound, UndefinedError

from dpols import (
    Bounds,
    BudgetLedger,
    FeatureMap,
    NumericColumn,
    PrivateLinearRegression,
    release_sketch,
    summary_col,
)
from dpols.pages import environment, render
from dpols.planning.accuracy import AccuracyPlan
from dpols.planning.simulation import PlannedRow
from dpols.privacy import GaussianRelease

REPOSITORY = Path(__file__).parents[2]
TEMPLATES = files("dpols.pages") / "templates"
HOSTILE = "<script>alert('x')</script><img src=https://a.example/b onerror=\"y\">"
WHOLE = ("report.html", "summary.html", "plan.html")
PARTS = ("summary_part.html", "summary_col.html", "report", "model", "feature map", "ledger", "sketch", "tests")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every page of a fit whose columns have hostile names, and of a plan with hostile words; and notebooks' parts."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.uniform(-1.0, 1.0, (400, 2)), columns=[HOSTILE, "b" * 80])
    bounds = Bounds(features={HOSTILE: (-1.0, 1.0), "b" * 80: (-1.0, 1.0)}, target=(-2.0, 2.0))
    model = PrivateLinearRegression(20.0, 1e-6, bounds, inference=True, random_state=0).fit(X, X[HOSTILE])
    feature_map = FeatureMap({HOSTILE: NumericColumn(-1.0, 1.0)}, target=(0.0, 1.0), target_name=HOSTILE)
    ledger = BudgetLedger(tmp_path_factory.mktemp("ledgers") / "a.ledger", epsilon=1.0, delta=1e-6)
    ledger.add(GaussianRelease(20.0), what=HOSTILE)
    sketch = release_sketch(X, epsilon=1.0, delta=1e-6, rows=20, bounds=Bounds(features=dict(bounds.features)))
    row = PlannedRow(HOSTILE, 1.0, 1e-6, 1000, 0.1, 0.0, 0.6, 0.4, 0.1, 0.0, None, HOSTILE)
    plan = AccuracyPlan((row,), 1000, 3, HOSTILE, 0.5, 2, left_out=((HOSTILE, HOSTILE),))
    summary = model.summary()
    return {
        "report.html": model.privacy_report_.to_html(),
        "summary.html": summary.to_page(),
        "summary_part.html": summary.as_html(),
        "plan.html": plan.to_html(),
        "summary_col.html": summary_col([model])._repr_html_(),
        "report": model.privacy_report_._repr_html_(),
        "model": model._repr_mimebundle_()["text/html"],
        "feature map": feature_map._repr_html_(),
        "ledger": ledger._repr_html_(),
        "sketch": sketch.report._repr_html_(),
        "tests": model.t_test(np.eye(3))._repr_html_(),
    }


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text that is shown."""

    def __init__(self, page):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", [*WHOLE, *PARTS])
def test_a_hostile_column_name_is_shown_and_is_no_element(pages, name):
    page = Elements(pages[name])
    assert HOSTILE in page.text
    assert not any(tag == "img" or "onerror" in attributes for tag, attributes in page.found)
    scripts = [attributes for tag, attributes in page.found if tag == "script"]
    assert scripts == ([{"type": "application/json", "id": "privacy-report"}] if name == "report.html" else [])


@pytest.mark.parametrize("name", [*WHOLE, *PARTS])
def test_pages_load_nothing(pages, name):
    page = Elements(pages[name])
    loaded = ("src", "href", "srcset", "action", "data", "poster", "background")
    addresses = [value for _, attributes in page.found for key, value in attributes.items() if key in loaded]
    assert set(addresses) <= {"data:,"}  # an empty icon
    style = "".join(re.findall(r"<style>(.*?)</style>", pages[name], re.DOTALL))
    assert style
    assert not re.search(r"url\(|@import|https?:", style)


def test_only_marked_values_enter_unescaped():
    made = environment()
    assert made.autoescape is True
    assert made.from_string("{{ a }}").render(a=HOSTILE).count("<") == 0
    marked = [path.name for path in TEMPLATES.iterdir() if re.search(r"\|\s*safe|autoescape", path.read_text())]
    assert marked == []


@pytest.mark.parametrize("name", [*WHOLE, "summary_part.html", "part.html", "summary_col.html"])
def test_a_missing_value_is_an_error(name):
    with pytest.raises(UndefinedError):
        render(name)


def test_a_page_without_body_is_an_error():
    with pytest.raises(Exception, match="Required block"):
        render("base.html")


@pytest.mark.parametrize("name", ["../__init__.py", "/etc/hostname", "../../../../pyproject.toml"])
def test_nothing_but_templates_is_read(name):
    with pytest.raises(TemplateNotFound):
        render(name)


def test_numbers_are_not_broken_at_their_sign():
    shown = environment().from_string("{{ a | unbroken }}").render(a="delta = 1e-06 < 2.5e-05, zero-out")
    number = '<span class="unbroken">{}</span>'.format
    assert shown == f"delta = {number('1e-06')} &lt; {number('2.5e-05')}, zero-out"


@pytest.mark.parametrize("folder", ["src/dpols", "benchmarks/dpols_bench"])
def test_markup_and_style_are_in_templates_alone(folder):
    found = [
        f"{path.relative_to(REPOSITORY)}: {match[0]}"
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        for match in re.finditer(r"<style|</(?:table|t[dhr]|p|h\d|div|ul|li|html|svg)>", path.read_text("utf-8"))
    ]
    assert found == []


def test_there_is_one_style_sheet(pages):
    sheets = [path.name for path in TEMPLATES.iterdir() if path.name.endswith(".css")]
    assert sheets == ["style.css"]
    sheet = (TEMPLATES / "style.css").read_text("utf-8").strip()
    for page in pages.values():
        assert page.count("<style>") == 1
        assert sheet in page


def rules(sheet):
    """Return selectors and declarations, those within @media included."""
    plain = re.sub(r"/\*.*?\*/|@media[^{]*\{", "", sheet, flags=re.DOTALL)
    return re.findall(r"([^{}]+)\{([^{}]*)\}", plain)


def test_a_summary_in_a_notebook_styles_nothing_around_it():
    for sheet in ((TEMPLATES / "style.css"), REPOSITORY / "benchmarks/dpols_bench/templates/paper.css"):
        found = rules(sheet.read_text("utf-8"))
        assert len(found) > 30
        for selector, _ in found:
            outside = re.sub(r"\([^)]*\)", "", selector)
            assert all(part.strip().startswith(".dpols") for part in outside.split(",")), selector


def luminance(colour):
    digits = colour.lstrip("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_has_contrast_in_light_in_dark_and_on_paper():
    found = [dict(re.findall(r"--([\w-]+): (#\w+)", body)) for _, body in rules((TEMPLATES / "style.css").read_text())]
    light, dark, also_light, also_dark, paper = [colours for colours in found if colours]
    assert (also_light, also_dark) == (light, dark)  # the themes of notebooks
    for colours in (light, light | dark, light | paper):
        pairs = [(name, ground) for name in ("ink", "soft", "link") for ground in ("paper", "tint")]
        pairs += [("on-alarm", "alarm"), *((name, f"{name}-tint") for name in ("good", "fair", "bad"))]
        for text, ground in pairs:
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground, colours)
        assert contrast(colours["alarm"], colours["paper"]) >= 3.0


@pytest.mark.parametrize("name", ["report.html", "summary.html"])
def test_a_page_of_a_fit_that_is_not_private_cannot_be_mistaken(pages, name):
    page = pages[name]
    assert "<title>NOT PRIVATE: " in page
    assert re.search(
        r'<body class="dpols page void">\n(?:<main>\n)?<h1>[^<]+</h1>\n<p class="alarm">NOT PRIVATE: ', page
    )
    assert page.count('class="caution"') == 1  # a large epsilon


@pytest.mark.parametrize("name", PARTS)
def test_a_notebook_shows_no_text_of_the_program(pages, name):
    text = Elements(pages[name]).text
    assert not re.search(r"\b[A-Z]\w+\(\w+=|\bNone\b|\bnan\b|object at 0x", text)
    assert pages[name].startswith('<div class="dpols part')
    assert pages[name].count("<div") == pages[name].count("</div")


def test_before_a_fit_a_notebook_shows_the_parameters():
    shown = PrivateLinearRegression(epsilon=0.25)._repr_mimebundle_()
    assert "PrivateLinearRegression" in shown["text/html"]
    assert "epsilon=0.25" in shown["text/plain"]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_the_screen(pages, name, width, tmp_path):
    screenshots = pytest.importorskip("dpols_bench.paper.screenshots")
    if screenshots.browser() is None:
        pytest.skip("no browser is installed")
    (tmp_path / name).write_text(pages[name], encoding="utf-8")
    layout = screenshots.measure_layout(tmp_path / name, width=width)
    assert layout.scroll_width <= layout.width == width
    assert layout.furthest_right <= width
    assert layout.requests == ()


def ordinary_pages():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (400, 2))
    bounds = Bounds(features=[(-1.0, 1.0)] * 2, target=(-2.0, 2.0))
    model = PrivateLinearRegression(20.0, 1e-6, bounds, random_state=0).fit(X, X[:, 0])
    methods = ("whitened", "ihm", "adassp", "dp-gd", "linmix-dynamic")
    rows = [PlannedRow(name, 1.0, 1e-6, 1000, 0.1, 0.0, 0.6, 0.4, 0.1, 0.0, None, "too few") for name in methods]
    yield "report", model.privacy_report_.to_html()
    yield "summary", model.summary().to_page()
    yield "plan", AccuracyPlan(tuple(rows), 1000, 3, "bounds as wide as the data", 0.5, 2).to_html()


def test_no_word_is_broken_on_a_phone(tmp_path):
    screenshots = pytest.importorskip("dpols_bench.paper.screenshots")
    if screenshots.browser() is None:
        pytest.skip("no browser is installed")
    path = tmp_path / "page.html"
    for name, page in ordinary_pages():
        heights = []
        for wrap in ("break-word", "normal"):  # where words stay whole anyway, both look the same
            path.write_text(page.replace("overflow-wrap: break-word", f"overflow-wrap: {wrap}"), encoding="utf-8")
            heights.append(screenshots.measure_layout(path, width=390).height)
        assert heights[0] == heights[1] > 900, name
