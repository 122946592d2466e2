"""The walk, page by page, with what people type and what they mistype."""

import json
import re
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
from app_visits import CANARY, ROWS, shown, text_of

from dpols.cli import main
from dpols.estimators import load_any
from dpols.ledger import BudgetLedger
from dpols.report.registry import QUESTIONS

pytestmark = pytest.mark.extras


def test_the_walk_leads_from_a_table_to_a_model_that_the_commands_can_use(visitor_of_whole_processes, table):
    visitor = visitor_of_whole_processes
    key = visitor.walked(table)
    folder = visitor.site.projects.find(key.rpartition("/")[2]).folder
    written = tomllib.loads((folder / "bounds.toml").read_text())
    assert written["target"] == {"name": "pay", "low": 0, "high": 100}
    assert written["features"]["region"] == {"categories": ["north", "south"]}
    answer = visitor.post(f"{key}/confirm", visitor.order(key))
    assert answer.url.path == f"{key}/fits/1"
    assert visitor.until_done(key) == "done"
    result = text_of(visitor.get(f"{key}/fits/1"))
    model = load_any(folder / "fits" / "1" / "model.json")
    assert "region[south]" in result
    assert model.privacy_report_.n_rows == ROWS
    (entry,) = BudgetLedger(folder / "budget.ledger").entries()
    assert entry.status == "spent"
    assert model.privacy_report_.ledger_entry == entry.identity
    predicted = visitor.post(f"{key}/fits/1/predict", {"x-0": "40", "x-1": "30", "x-2": "south"})
    assert re.search(r"predicted: <b>\d", predicted.text)
    assert "choose one" in shown(visitor.post(f"{key}/fits/1/predict", {"x-0": "40", "x-1": "3", "x-2": "moon"}))
    for name in ("report.html", "report.md", "report.json", "model.json", "bounds.toml", "fit.py", "fit.sh"):
        file = visitor.get(f"{key}/fits/1/files/{name}")
        assert file.status_code == 200
        assert name in file.headers["content-disposition"]
    assert json.loads(visitor.get(f"{key}/fits/1/files/report.json").text)["ledger_entry"] == entry.identity
    assert visitor.get(f"{key}/fits/1/files/request.json").status_code == 404
    assert "row" in text_of(visitor.get(f"{key}/history"))


def test_what_is_taken_along_is_of_use_to_the_commands(visitor, table, tmp_path, monkeypatch):
    key = visitor.walked(table)
    for number in ("1", "2"):
        visitor.post(f"{key}/confirm", {**visitor.order(key), "again": "yes"})
        assert visitor.until_done(key, number) == "done"
    for name in ("report.json", "model.json", "bounds.toml"):
        (tmp_path / name).write_text(visitor.get(f"{key}/fits/2/files/{name}").text)
    ledger = visitor.site.projects.find("a-study").choices().data.ledger
    runs = (
        ("verify", "report.json", f"--ledger={ledger}"),
        ("predict", "model.json", str(table), "--out=predicted.csv"),
        ("fit", str(table), "--target=pay", "--bounds=bounds.toml", "--epsilon=1", "--delta=1e-6", "--out=again.json"),
    )
    monkeypatch.chdir(tmp_path)
    for run in runs:
        with pytest.raises(SystemExit) as exited:
            main(run)
        assert exited.value.code == 0
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == ROWS + 1
    assert load_any(tmp_path / "again.json").feature_names_in_.tolist() == ["age", "hours", "region"]


def test_an_entry_of_the_registry_is_made_of_answers_and_of_the_whole_ledger(visitor, table):
    yaml = pytest.importorskip("yaml")
    key = visitor.walked(table)
    for number in ("1", "2"):
        visitor.post(f"{key}/confirm", {**visitor.order(key), "again": "yes"})
        assert visitor.until_done(key, number) == "done"
    empty = visitor.post(f"{key}/fits/1/registry", {})
    assert empty.status_code == 422
    assert shown(empty).count("none is made up") == len(QUESTIONS)
    answers = {name: question.choices[0] if question.choices else "an answer" for name, question in QUESTIONS.items()}
    wrong = visitor.post(f"{key}/fits/1/registry", {**answers, "publication_date": "soon"})
    assert "YYYY-MM-DD" in shown(wrong)
    assert 'value="an answer"' in wrong.text
    made = visitor.post(f"{key}/fits/1/registry", {**answers, "publication_date": "2026-11-01"})
    assert made.headers["content-disposition"] == 'attachment; filename="registry.yaml"'
    entry = yaml.safe_load(made.text)["deployment"]
    assert entry["basic"]["name"] == "an answer"
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 3.0, "delta": 1e-5}  # of the ledger
    assert "exact" in entry["implementation"]["mechanisms"]


def test_a_large_epsilon_is_said_to_promise_next_to_nothing(visitor, table):
    key = visitor.walked(table)
    assert "next to nothing" not in visitor.get(f"{key}/confirm").text
    visitor.plan(key, epsilon="9")
    assert "promises next to nothing" in visitor.get(f"{key}/confirm").text


def test_a_plan_says_that_ranges_that_are_paid_for_are_not_simulated(visitor, table):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key)
    visitor.bounds(key)
    assert "are not simulated" not in drawn(visitor, key)
    visitor.bounds(key, way="paid")
    assert "are not simulated" in drawn(visitor, key)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"path": "/no/such.csv"}, "There is no file '/no/such.csv'"),
        ({"path": ""}, "No table was chosen"),
        ({"rows": ""}, "number of rows must be a whole number"),
        ({"rows": "-3"}, "number of rows must be a whole number"),
        ({"unit": "nobody", "rows_per_unit": "2"}, "no such column"),
        ({"unit": "person", "rows_per_unit": "many"}, "must be a whole number"),
        ({"total_epsilon": "lots"}, "must be a number"),
        ({"total_delta": "2"}, "must lie between"),
        ({"ledger_way": "existing", "ledger_path": ""}, "path of the ledger is missing"),
        ({"ledger_way": "existing", "ledger_path": "/no/such.ledger"}, "there is no ledger"),
    ],
)
def test_a_mistake_about_the_data_is_shown_beside_what_was_typed(visitor, table, fields, said):
    key = visitor.project()
    answer = visitor.data(key, table, **fields)
    assert answer.status_code == 422
    assert said in shown(answer)
    assert visitor.get(f"{key}/model").url.path == f"{key}/data"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"target": ""}, "No outcome was chosen"),
        ({"target": "99"}, "No outcome was chosen"),
        ({"use-0": "", "use-1": "", "use-2": ""}, "No feature was chosen"),
        ({"use-3": "number"}, "'pay' is the outcome"),
        ({"levels-2": "north"}, "'region' needs its categories"),
        ({"kind": "yes-no", "target": "4", "no": "no", "yes": "no"}, "two different labels"),
        ({"kind": "magic"}, "Say what the outcome is"),
        ({"left-0": "0", "right-0": "0"}, "two different columns"),
        ({"left-0": "0", "right-0": "5"}, "both of which are features"),
    ],
)
def test_a_mistake_about_the_model_is_shown(visitor, table, fields, said):
    key = visitor.project()
    visitor.data(key, table)
    answer = visitor.model(key, **fields)
    assert answer.status_code == 422
    assert said in shown(answer)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"low-0": ""}, "'age': low is missing"),
        ({"high-0": "old"}, "'old' is no number"),
        ({"low-0": "90", "high-0": "18"}, "high must be above low"),
        ({"missing-0": "200"}, "must count as a number from 18 to 90"),
        ({"missing-2": "moon"}, "must count as one of north, south"),
        ({"low-3": "1e400"}, "no number"),
    ],
)
def test_a_mistake_about_the_bounds_is_shown(visitor, table, fields, said):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key)
    answer = visitor.bounds(key, **fields)
    assert answer.status_code == 422
    assert said in shown(answer)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"epsilon": "0"}, "Epsilon must lie between"),
        ({"epsilon": "nan"}, "Epsilon must be a number"),
        ({"delta": "small"}, "delta"),
        ({"delta": "1.5"}, "delta"),
        ({"r_squared": "1"}, "must lie between"),
    ],
)
def test_a_mistake_about_the_plan_is_shown(visitor, table, fields, said):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key)
    visitor.bounds(key)
    answer = visitor.plan(key, **fields)
    assert answer.status_code == 422
    assert said in shown(answer)


def test_all_mistakes_of_a_page_are_shown_at_once_with_links_to_their_fields(visitor, table):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key)
    answer = visitor.bounds(key, **{"low-0": "", "high-1": ""})
    assert 'href="#low-0"' in answer.text
    assert 'href="#high-1"' in answer.text
    assert answer.text.count('aria-invalid="true"') == 2
    assert 'value="the codebook"' in answer.text


def test_advice_on_bounds_follows_what_is_typed(visitor, table):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key)
    fields = {"low-3": "0", "high-3": "100", "low-0": "18", "high-0": "90", "low-1": "0", "high-1": "60"}
    narrow = text_of(visitor.post(f"{key}/bounds/advice", fields))
    wide = text_of(visitor.post(f"{key}/bounds/advice", {**fields, "high-0": "9000"}))
    assert "standard deviations" in narrow
    least = [float(re.search(r"age (\S+)", text)[1]) for text in (narrow, wide)]
    assert least[1] > 50 * least[0]
    assert "once every range is filled in" in text_of(visitor.post(f"{key}/bounds/advice", {**fields, "high-0": ""}))


def test_bounds_are_filled_in_from_a_public_table_and_never_from_the_data(visitor, table, tmp_path):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key)
    refused = visitor.bounds(key, fill="yes", reference=str(table))
    assert "This is the data itself" in shown(refused)
    public = tmp_path / "public.csv"
    public.write_text("age,hours\n20,0\n70,50\n")
    filled = visitor.bounds(key, fill="yes", reference=str(public))
    assert 'name="low-0" value="15"' in filled.text
    assert 'name="high-0" value="75"' in filled.text
    assert visitor.get(f"{key}/plan").url.path == f"{key}/bounds"


def test_the_picture_follows_epsilon_and_says_what_a_fit_takes(visitor, table):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key)
    visitor.bounds(key)
    small, large = (drawn(visitor, key, epsilon=epsilon) for epsilon in ("0.1", "10"))
    guess = [int(re.search(r"right at most (\d+)%", text)[1]) for text in (small, large)]
    assert guess == [52, 100]
    score = [float(re.search(r"Expected R²</b>: about (\S+)[ <]", text)[1].rstrip("<")) for text in (small, large)]
    assert score[0] < score[1]
    assert "this fit takes" in small
    assert "not enough is left" in large
    assert small.count("<svg") == 3


@pytest.mark.parametrize(("kind", "target", "name"), [("yes-no", "4", "AUC"), ("count", "5", "explained deviance")])
def test_other_outcomes_are_planned_and_fitted(visitor, table, kind, target, name):
    key = visitor.project()
    visitor.data(key, table)
    visitor.model(key, kind=kind, target=target, no="no", yes="yes")
    visitor.bounds(key, **{"low-5": "0", "high-5": "10"})
    assert f"Expected {name}" in visitor.get(f"{key}/plan").text
    picture = drawn(visitor, key)
    assert re.search(rf"Expected {name}</b>: about 0\.\d", picture)
    assert "caution" not in picture
    assert "Width" not in picture
    assert visitor.plan(key).url.path == f"{key}/confirm"
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key) == "done"
    answer = visitor.post(f"{key}/fits/1/predict", {"x-0": "60", "x-1": "30", "x-2": "north"})
    assert ("probability of yes" if kind == "yes-no" else "predicted") in text_of(answer)


def drawn(visitor, key, **more):
    """The picture of the plan, once it is complete."""
    fields = {"epsilon": "1", "delta": "1e-6", "r_squared": "0.3", **more}
    for _ in range(400):
        picture = visitor.get(f"{key}/plan/picture", params=fields).text
        if 'data-done="yes"' in picture:
            return picture
        time.sleep(0.05)
    raise AssertionError("the plan does not end")


INTERVALS = {
    "number": ("3", "standard deviations of the outcome", "95% of such cases lie in"),
    "yes-no": ("4", "log-odds", "95% interval of this probability"),
    "count": ("5", "logarithms of the mean count", "95% interval of the mean count"),
}


@pytest.mark.parametrize("kind", INTERVALS)
def test_every_kind_of_outcome_has_intervals(visitor, table, kind):
    target, unit, limits = INTERVALS[kind]
    key = visitor.project()
    visitor.data(key, table, total_epsilon="200")
    visitor.model(key, kind=kind, target=target, no="no", yes="yes", **{"use-0": ""})  # age would tell all of them
    visitor.bounds(key, **{"low-5": "0", "high-5": "10"})
    hidden, seen = (drawn(visitor, key, epsilon=epsilon, inference="yes") for epsilon in ("0.1", "10"))
    assert "slopes have no interval there" in hidden
    assert re.search(r"Width of 95% intervals</b>: about 0\.\d", seen)
    assert f"In {unit} for each standard deviation" in seen
    assert visitor.plan(key, epsilon="60", inference="yes").url.path == f"{key}/confirm"
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key) == "done"
    answer = text_of(visitor.post(f"{key}/fits/1/predict", {"x-0": "30", "x-1": "north"}))
    low, value, high = (
        float(re.search(pattern, answer)[1])
        for pattern in (rf"{limits}: \[(-?[\d.e-]+)", r"(?:predicted|of yes): ([\d.]+)", rf"{limits}: \[\S+ ([\d.e]+)")
    )
    assert low < value < high
    assert "standard error" in answer


def test_intervals_that_the_noise_hides_are_said_to_be_hidden(visitor, table):
    key = visitor.walked(table)
    visitor.plan(key, epsilon="0.5", inference="yes")
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key) == "done"
    answer = text_of(visitor.post(f"{key}/fits/1/predict", {"x-0": "40", "x-1": "30", "x-2": "south"}))
    assert "lie in: hidden by the noise" in answer


def test_columns_can_be_looked_at_before_anything_is_filled_in(visitor, table):
    key = visitor.project()
    looked = visitor.post(f"{key}/data", {"path": str(table), "look": "yes"})
    assert looked.status_code == 200
    assert '<option value="person">' in looked.text
    assert visitor.site.projects.find("a-study").choices().data is None


@pytest.mark.parametrize("sent", ["../staff.csv", "../../staff.csv", "/etc/passwd", ".", "", "x/y", "\0"])
def test_a_form_names_no_file_beside_those_that_were_sent(visitor, table, sent):
    key = visitor.project()
    assert "No table was chosen" in shown(visitor.data(key, "", sent=sent))


def test_a_table_that_was_sent_need_not_be_sent_again_after_a_mistake(visitor, table):
    key = visitor.project()
    fields = {"rows": "many", "ledger_way": "new", "total_epsilon": "3", "total_delta": "1e-5"}
    sent = {"upload": ("staff.csv", table.read_bytes())}
    wrong = visitor.client.post(f"{key}/data", data=fields, files=sent)
    assert "must be a whole number" in shown(wrong)
    kept = re.search(r'name="sent" value="([^"]+)"', wrong.text)[1]
    assert visitor.post(f"{key}/data", {**fields, "rows": "400", "sent": kept}).url.path == f"{key}/model"
    assert visitor.site.projects.find("a-study").choices().data.uploaded


@pytest.mark.parametrize(("mark", "fits"), [("", False), (".", True)])
def test_the_decimal_mark_of_a_table_with_semicolons_can_be_chosen(visitor, table, mark, fits):
    table.write_text(table.read_text().replace(",", ";"))
    key = visitor.project()
    visitor.data(key, table, decimal=mark)
    visitor.model(key)
    visitor.bounds(key)
    visitor.plan(key)
    visitor.post(f"{key}/confirm", visitor.order(key))
    assert visitor.until_done(key) == ("done" if fits else "failed")
    page = text_of(visitor.get(f"{key}/fits/1"))
    assert fits or ("Nothing was spent" in page and "decimal marks" in page and CANARY not in page)


def test_a_decimal_mark_that_separates_columns_is_refused(visitor, table):
    assert "decimal mark , cannot be" in shown(visitor.data(visitor.project(), table, decimal=","))


def test_two_projects_never_mix(visitor, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("weight,height\n1,2\n3,4\n")
    first, second = visitor.project("one"), visitor.project("two")
    visitor.data(first, table)
    visitor.data(second, other)
    visitor.model(first)
    assert visitor.get(f"{second}/bounds").url.path == f"{second}/model"
    assert "weight" not in visitor.get(f"{first}/model").text
    assert "region" not in visitor.get(f"{second}/model").text
    assert visitor.project("one") == "/p/one-2"


def test_two_projects_that_fit_at_once_never_mix(visitor, table, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("pay", "wage").replace("north", "east").replace("south", "west"))
    first, second = visitor.walked(table, "one"), visitor.project("two")
    visitor.data(second, other, total_epsilon="7")
    visitor.model(second, **{"levels-2": "east, west"})
    visitor.bounds(second)
    visitor.plan(second, epsilon="2")
    orders = {key: visitor.order(key) for key in (first, second)}
    crossed = visitor.post(f"{second}/confirm", orders[first])
    assert "settings have changed" in shown(crossed)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda key: visitor.post(f"{key}/confirm", orders[key]), orders))
    for key, own, others in ((first, "pay", "wage"), (second, "wage", "pay")):
        assert visitor.until_done(key) == "done"
        report = visitor.get(f"{key}/fits/1/files/report.json").json()
        assert (report["target_name"], report["asked"]["epsilon"]) == (own, 1.0 if own == "pay" else 2.0)
        assert f"{others} ~" not in visitor.get(f"{key}/fits/1").text
        folder = visitor.site.projects.find(key.rpartition("/")[2]).folder
        (entry,) = BudgetLedger(folder / "budget.ledger").entries()
        assert report["ledger_entry"] == entry.identity


def test_a_second_project_on_a_table_is_led_to_its_ledger(visitor, table):
    first, second = visitor.project("one"), visitor.project("two")
    visitor.data(first, table)
    refused = visitor.data(second, table)
    assert "is about the same table" in shown(refused)
    ledger = re.search(r"type &#39;(\S+)&#39;", refused.text)[1]
    assert visitor.data(second, table, ledger_way="existing", ledger_path=ledger).status_code == 200


def test_no_page_shows_a_cell(visitor, table):
    key = visitor.walked(table)
    visitor.post(f"{key}/confirm", visitor.order(key))
    visitor.until_done(key)
    folder = visitor.site.projects.find("a-study").folder
    for step in ("", "/data", "/model", "/bounds", "/plan", "/confirm", "/fits/1", "/history", "/fits/1/registry"):
        assert CANARY not in visitor.get(f"{key}{step}").text
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if CANARY.encode() in path.read_bytes()]
