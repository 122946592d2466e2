"""The walk of the README on tables as other programs write them, and what is said of those that cannot be read."""

import gzip

import numpy as np
import pytest

from dpols import PrivateLinearRegression
from dpols.cli.demo_data import STAFF_DECLARED, staff

pandas = pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.extras

BUDGET = ("--epsilon", "1", "--delta", "1e-6", "--random-state", "0")
DECLARED = STAFF_DECLARED.replace('"south"', '"süd"')


def table():
    columns = {name: list(values) for name, values in staff(3000, seed=0).items()}
    frame = pandas.DataFrame(columns)
    frame["region"] = frame["region"].replace("south", "süd")
    return frame


def write_plain(path):
    table().to_csv(path, index=False)


def write_foreign(path):
    """Semicolons, decimal commas, Latin-1 and gzip, as a spreadsheet in Europe and a thrifty colleague leave it."""
    text = table().to_csv(index=False, sep=";", decimal=",")
    path.write_bytes(gzip.compress(text.encode("latin-1")))


def test_the_walk_of_the_readme_needs_no_option_on_a_foreign_file(dpols, tmp_path):
    write_plain(tmp_path / "staff.csv")
    write_foreign(tmp_path / "foreign.csv.gz")
    (tmp_path / "bounds.toml").write_text(DECLARED, encoding="utf-8")
    found = []
    for data in ("staff.csv", "foreign.csv.gz"):
        template = dpols("bounds-template", data, "--target", "pay", "--categories", "region,contract", "--out", "-")
        assert (template.code, template.err) == (0, "")
        done = dpols("fit", data, "--target", "pay", "--bounds", "bounds.toml", *BUDGET, "--out", "model.json")
        assert done.code == 0, done.err
        assert dpols("predict", "model.json", data, "--out", "out.csv").code == 0
        model = PrivateLinearRegression.load("model.json")
        found.append((template.out, model.coef_.tolist(), (tmp_path / "out.csv").read_text()))
    assert found[0] == found[1]


def test_units_are_read_from_a_foreign_file(dpols, tmp_path):
    for name, separator, decimal in (("a.csv", ",", "."), ("b.csv", ";", ","), ("c.tsv", "\t", ".")):
        frame = table().assign(person=np.arange(3000) // 3)
        frame.to_csv(tmp_path / name, index=False, sep=separator, decimal=decimal)
    table().assign(person=np.arange(3000) // 3).to_excel(tmp_path / "d.xlsx", index=False)
    (tmp_path / "bounds.toml").write_text(DECLARED, encoding="utf-8")
    unit = ("--unit", "person", "--max-rows-per-unit", "2")
    found = []
    for name in ("a.csv", "b.csv", "c.tsv", "d.xlsx"):
        done = dpols("fit", name, "--target", "pay", "--bounds", "bounds.toml", *BUDGET, *unit, "--out", "model.json")
        assert done.code == 0, done.err
        found.append(PrivateLinearRegression.load("model.json").coef_.tolist())
    assert found[0] == found[1] == found[2] == found[3]


def test_options_say_what_the_header_does_not(dpols, tmp_path):
    table().to_csv(tmp_path / "points.csv", index=False, sep=";")
    table().to_csv(tmp_path / "koi8.csv", index=False, encoding="cp437")
    (tmp_path / "bounds.toml").write_text(DECLARED, encoding="utf-8")
    given = ("--target", "pay", "--bounds", "bounds.toml", *BUDGET, "--out", "model.json")
    refused = dpols("fit", "points.csv", *given)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "--decimal ." in refused.err
    for arguments in (("points.csv", "--decimal", "."), ("koi8.csv", "--encoding", "cp437")):
        assert dpols("fit", arguments[0], *given, *arguments[1:]).code == 0
        assert dpols("predict", "model.json", *arguments, "--out", "out.csv").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--separator", "::"), "separator '::' must be one of , ; | or tab"),
        (("--decimal", ","), "commas separate the values of the header"),
        (("--encoding", "utf-16"), 'in a spreadsheet as "CSV UTF-8"'),
    ],
)
def test_options_that_make_no_sense_are_refused_in_one_line(dpols, tmp_path, options, message):
    write_plain(tmp_path / "staff.csv")
    (tmp_path / "bounds.toml").write_text(DECLARED, encoding="utf-8")
    done = dpols("fit", "staff.csv", "--target", "pay", "--bounds", "bounds.toml", *BUDGET, "--out", "m.json", *options)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert message in done.err
