"""``dpols bounds-template``: names from the header, limits left to the user, rows never read."""

import tomllib

import pytest

pytest.importorskip("typer")
pytestmark = pytest.mark.extras

NAMES = ["age", "body mass", 'say "hi"', "a.b", "größe", "tab\there", "#", "", "del\x7f", "back\\slash", "target"]


def filled(text):
    return tomllib.loads(text.replace("# low =", "low = 0").replace("# high =", "high = 1"))


def test_a_template_names_every_column_but_has_no_limits(dpols, csv, tmp_path):
    done = dpols("bounds-template", csv, "--target", "pay")
    assert (done.code, done.err) == (0, "")
    text = (tmp_path / "bounds.toml").read_text()
    assert tomllib.loads(text) == {"target": {"name": "pay"}, "features": {"age": {}, "hours": {}, "city": {}}}
    limits = {"low": 0, "high": 1}
    assert filled(text) == {
        "target": {"name": "pay", **limits},
        "features": {"age": limits, "hours": limits, "city": limits},
    }


def test_a_template_as_it_is_gives_a_clear_error(dpols, csv, budget):
    dpols("bounds-template", csv, "--target", "pay")
    done = dpols("fit", csv, "--target", "pay", "--bounds", "bounds.toml", *budget, "--out", "model.json")
    assert done.code == 2
    assert "[target] has no low; fill it in from public knowledge." in done.err


def test_any_name_survives(dpols, tmp_path):
    import csv

    with (tmp_path / "odd.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow([*NAMES, "y"])
    done = dpols("bounds-template", "odd.csv", "--target", "y", "--out", "-")
    assert list(filled(done.out)["features"]) == NAMES


def test_of_csv_only_the_first_line_is_read(dpols, tmp_path):
    (tmp_path / "odd.csv").write_bytes(b"\xef\xbb\xbfa,y\n" + b"\xff" * 100_000)
    done = dpols("bounds-template", "odd.csv", "--target", "y", "--out", "-")
    assert done.code == 0
    assert list(filled(done.out)["features"]) == ["a"]


def test_columns_of_text_get_categories_to_fill_in(dpols, parquet):
    done = dpols("bounds-template", parquet, "--target", "pay", "--out", "-")
    assert "categories" not in done.out.partition("[target]")[2].partition("[features.city]")[0]
    assert '[features.city]\n# categories = ["FIRST", "SECOND"]\n' in done.out


def test_columns_of_a_csv_file_may_be_said_to_hold_categories(dpols, csv):
    either = dpols("bounds-template", csv, "--target", "pay", "--out", "-").out
    assert either.count("# or categories =") == 3
    named = dpols("bounds-template", csv, "--target", "pay", "--categories", "city", "--out", "-").out
    assert named.count("\n# categories =") == 1
    assert "# or" not in named
    for wrong in ("town", "pay"):
        done = dpols("bounds-template", csv, "--target", "pay", "--categories", wrong, "--out", "-")
        assert (done.code, done.out) == (2, "")
        assert repr(wrong) in done.err


def test_a_file_that_may_hold_limits_is_kept(dpols, csv, bounds):
    before = bounds.read_text()
    done = dpols("bounds-template", csv, "--target", "pay")
    assert done.code == 2
    assert "--force" in done.err
    assert bounds.read_text() == before
    assert dpols("bounds-template", csv, "--target", "pay", "--force").code == 0
    assert bounds.read_text() != before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["data.csv", "--target", "salary"], ["'salary'", "'age'"]),
        (["data.csv"], ["--target"]),
        (["missing.csv", "--target", "pay"], ["'missing.csv'"]),
        (["data.sav", "--target", "pay"], [".csv", ".parquet"]),
        (["data.csv", "--target", "pay", "--out", "nowhere/bounds.toml"], ["'nowhere'"]),
        (["data.csv", "--target", "pay", "--out", "data.csv", "--force"], ["overwrite"]),
    ],
)
@pytest.mark.usefixtures("csv")
def test_bad_arguments_are_refused(dpols, tmp_path, arguments, words):
    done = dpols("bounds-template", *arguments)
    assert (done.code, done.out) == (2, "")
    assert [word for word in words if word not in done.err] == []
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
