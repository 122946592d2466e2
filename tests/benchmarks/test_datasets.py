"""Data sets by name: found where they should be, checked, and missed with an answer."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from dpols.errors import DataError, ParameterError
from dpols_bench import datasets
from dpols_bench.datasets import files, generated, raw
from dpols_bench.datasets.files import load_files
from dpols_bench.datasets.sources import Source

NOT_PROVIDED = {"3droad", "buzz", "slice"}


@pytest.fixture
def no_folders(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    monkeypatch.setenv("DPOLS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


@pytest.fixture
def small(no_folders):
    """A source of three rows with folds, and how to write its files."""
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    source = Source("small", "Small", 3, 2, "y", "UCI 1: Nothing", "CC0", has_folds=True)

    def write(folder, **columns):
        folder.mkdir(parents=True, exist_ok=True)
        default = {"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0], "target": [5.0, 6.0, 7.0]}
        parquet.write_table(pyarrow.table(columns or default), folder / "small.parquet")
        parquet.write_table(pyarrow.table({"test_fold": [0, 1, 2]}), folder / "small.folds.parquet")

    return source, write


def test_there_are_33_real_data_sets_with_different_names():
    assert len(set(datasets.REAL)) == 33
    assert {row.name for row in datasets.SOURCES if row.sha256 is None} == NOT_PROVIDED


@pytest.mark.parametrize("name", datasets.REAL)
def test_a_missing_file_is_named_with_its_origin_and_its_folder(name, no_folders):
    with pytest.raises(datasets.UnavailableError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert f"{name}.parquet" in message
    assert datasets.source(name).origin in message
    assert str(no_folders / "data") in message
    assert str(no_folders / "cache" / "dpols") in message


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ParameterError, match="airfoil"):
        datasets.load("airfoils")


@pytest.mark.parametrize("folder", ["data", "cache/dpols"])
def test_files_are_found_in_either_folder(small, no_folders, folder):
    source, write = small
    write(no_folders / folder)
    found = files.load_files(source)
    assert found.features.tolist() == [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    assert found.target.tolist() == [5.0, 6.0, 7.0]
    assert found.feature_names == ("a", "b")
    assert found.folds.tolist() == [0, 1, 2]
    assert found.origin == "UCI 1: Nothing (https://archive.ics.uci.edu/dataset/1)"


def test_another_file_of_that_name_is_refused(small, no_folders):
    source, write = small
    write(no_folders / "data")
    right = hashlib.sha256((no_folders / "data" / "small.parquet").read_bytes()).hexdigest()
    assert files.load_files(replace(source, sha256=right)).target.size == 3
    with pytest.raises(DataError, match="SHA-256"):
        files.load_files(replace(source, sha256=right[::-1]))


def test_a_file_of_another_shape_is_refused(small, no_folders):
    source, write = small
    write(no_folders / "data", a=[1.0, 2.0], target=[1.0, 2.0])
    with pytest.raises(DataError, match="2 rows and 2 columns"):
        files.load_files(source)


def made_up(name, folder, rows=200):
    """Write a file of the form in which the UCI repository hands a data set out; return its cells."""
    rng, width = np.random.default_rng(0), datasets.source(name).features + 1
    cells = rng.uniform(0.0, 50.0, (rows, width)).round(3)
    cells[:, 0] = rng.integers(1, 10**9, rows)  # ids, of roads and of patients
    if name == "buzz":
        cells = np.floor(cells)
    header = ["patientId", *(f"value{i}" for i in range(384)), "reference"] if name == "slice" else None
    lines = [] if header is None else [",".join(header)]
    lines += [",".join(f"{value:g}" if value < 1e5 else f"{value:.0f}" for value in row) for row in cells]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / raw.RAW[name].file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return cells


@pytest.mark.parametrize("folder", ["data", "cache/dpols"])
@pytest.mark.parametrize("name", sorted(NOT_PROVIDED))
def test_text_files_of_the_origin_are_read_where_there_are_no_others(name, folder, no_folders):
    pytest.importorskip("pyarrow")
    cells = made_up(name, no_folders / folder)
    found = load_files(replace(datasets.source(name), rows=200))
    assert found.features.shape == (200, datasets.source(name).features)
    np.testing.assert_allclose(found.features, cells[:, :-1])
    target = np.log(cells[:, -1] + 1.0) if name == "buzz" else cells[:, -1]
    np.testing.assert_allclose(found.target, target - target.mean(), atol=1e-9)
    assert np.bincount(found.folds).tolist() == [20] * 10
    np.testing.assert_array_equal(found.folds, load_files(replace(datasets.source(name), rows=200)).folds)
    expected = {"3droad": "OSM_ID", "buzz": "x1", "slice": "patientId"}
    assert found.feature_names[0] == expected[name]


@pytest.mark.parametrize("name", sorted(NOT_PROVIDED))
def test_text_files_can_be_prepared_and_fitted_as_the_paper_does(name, no_folders, monkeypatch):
    pytest.importorskip("pyarrow")
    from dpols_bench.paper.preprocessing import prepare

    made_up(name, no_folders / "data", rows=1000)
    monkeypatch.setattr(datasets, "source", lambda _: replace(_source(name), rows=1000))
    data = prepare(datasets.load(name))
    assert len(data.target) == 900
    assert np.linalg.norm(data.features, axis=1).max() == pytest.approx(1.0)
    assert np.abs(data.target).max() == pytest.approx(1.0)


def _source(name):
    return next(row for row in datasets.SOURCES if row.name == name)


@pytest.mark.parametrize("name", sorted(NOT_PROVIDED))
def test_text_files_of_another_form_are_refused(name, no_folders):
    pytest.importorskip("pyarrow")
    source = replace(datasets.source(name), rows=200)
    made_up(name, no_folders / "data", rows=199)
    with pytest.raises(DataError, match="199 rows"):
        load_files(source)
    path = no_folders / "data" / raw.RAW[name].file
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[-1][: lines[-1].rindex(",")]]), encoding="utf-8")
    with pytest.raises(DataError, match="not the text file"):
        load_files(source)
    cells = lines[-1].split(",")
    path.write_text("\n".join([*lines, ",".join(["", *cells[1:]])]) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="empty or not finite"):
        load_files(source)


def test_a_parquet_file_goes_before_a_text_file(no_folders):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    made_up("3droad", no_folders / "data")
    columns = {name: np.arange(200.0) for name in ("a", "b", "c", "target")}
    parquet.write_table(pyarrow.table(columns), no_folders / "data" / "3droad.parquet")
    found = load_files(replace(datasets.source("3droad"), rows=200))
    assert found.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(found.target, np.arange(200.0))


@pytest.mark.parametrize("name", sorted(NOT_PROVIDED))
def test_a_missing_data_set_names_the_text_file_too(name, no_folders):
    with pytest.raises(datasets.UnavailableError, match=raw.RAW[name].file):
        datasets.load(name)


@pytest.mark.parametrize("name", [name for name in datasets.REAL if name not in NOT_PROVIDED])
def test_real_data_sets_load(name, data_dir):
    found = datasets.load(name)
    row = datasets.source(name)
    assert found.features.shape == (row.rows, row.features)
    assert np.isfinite(found.features).all()
    assert np.isfinite(found.target).all()
    if row.has_folds:
        assert set(np.unique(found.folds)) == set(range(10))


def test_diabetes_needs_no_file(no_folders):
    assert datasets.load("diabetes").features.shape == (442, 10)


def test_the_sphere_has_rows_of_norm_1_and_is_the_same_each_time():
    one, two = datasets.load("sphere"), datasets.load("sphere")
    assert one.features.shape == (5 * 2**13, 2**5)
    np.testing.assert_allclose(np.linalg.norm(one.features, axis=1), 1.0)
    np.testing.assert_array_equal(one.target, two.target)


def test_mlp_features_have_low_rank_and_targets_are_linear_in_them_up_to_the_noise(monkeypatch):
    monkeypatch.setattr(generated, "MLP_ROWS", 2**15)
    found = datasets.load("mlp")
    assert found.features.shape == (2**15, 2**7)
    gram = found.features.T @ found.features
    theta = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ (found.features.T @ found.target)
    assert np.std(found.target - found.features @ theta) == pytest.approx(0.2, rel=0.02)
    assert np.linalg.matrix_rank(gram, hermitian=True) == 64
