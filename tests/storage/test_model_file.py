"""Model files: read back to the bit, refused when damaged, never half written."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from dpols import Bounds, PrivateLinearRegression
from dpols.algorithms import ALGORITHMS
from dpols.errors import ModelFileError
from dpols.storage.model_file import FORMAT, VERSION, parsed_model, read_model, stamped, write_model

BOUNDS = Bounds(features=[(-1.0, 1.0), (0.0, 2.0)], target=(-1.0, 5.0))


def fitted(**changes):
    rng = np.random.default_rng(0)
    X = rng.uniform([-1.0, 0.0], [1.0, 2.0], (200, 2))
    model = PrivateLinearRegression(**({"epsilon": 1.0, "delta": "1/n^2", "bounds": BOUNDS} | changes))
    return model.fit(X, 1.0 + X @ [1.0, 0.5]), X


@pytest.fixture
def saved(tmp_path):
    model, _ = fitted(random_state=0)
    model.save(tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.mark.parametrize("method", ALGORITHMS)
@pytest.mark.parametrize("random_state", [None, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_model_reads_back_to_the_bit(method, random_state, fit_intercept, tmp_path):
    model, X = fitted(method=method, random_state=random_state, fit_intercept=fit_intercept)
    model.save(tmp_path / "model.json")
    read = PrivateLinearRegression.load(tmp_path / "model.json")
    np.testing.assert_array_equal(read.coef_, model.coef_)
    assert read.intercept_ == model.intercept_
    assert read.privacy_report_ == model.privacy_report_
    assert read.privacy_report_.private == (random_state is None)
    assert str(read.privacy_report_) == str(model.privacy_report_)
    assert read.n_features_in_ == 2
    assert not hasattr(read, "feature_names_in_")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    read.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


@pytest.mark.extras
def test_column_names_read_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    _, X = fitted()
    frame = pandas.DataFrame(X, columns=["größe", 'a "quoted" name'])
    model = PrivateLinearRegression(1.0, 1e-6, BOUNDS).fit(frame, X[:, 0])
    model.save(tmp_path / "model.json")
    read = PrivateLinearRegression.load(str(tmp_path / "model.json"))
    assert read.feature_names_in_.tolist() == ["größe", 'a "quoted" name']
    np.testing.assert_array_equal(read.predict(frame), model.predict(frame))


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        PrivateLinearRegression().save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_every_cut_of_a_file_is_refused(saved):
    whole = saved.read_bytes()
    for length in sorted({*range(0, len(whole) - 2, 97), len(whole) - 3}):
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"model\.json"):
            PrivateLinearRegression.load(saved)


def test_a_changed_digit_is_refused_wherever_it_is(saved):
    whole = saved.read_text()
    digits = [i for i, character in enumerate(whole) if character.isdigit()]
    for place in digits[:: max(1, len(digits) // 60)]:
        other = "7" if whole[place] != "7" else "3"
        saved.write_text(whole[:place] + other + whole[place + 1 :])
        with pytest.raises(ModelFileError):
            PrivateLinearRegression.load(saved)


def rewritten(saved, change):
    document = json.loads(saved.read_text())
    change(document)
    saved.write_bytes(stamped(document))


def test_a_file_with_a_new_checksum_is_read(saved):
    before = saved.read_bytes()
    rewritten(saved, lambda document: None)
    assert saved.read_bytes() == before
    rewritten(saved, lambda document: document["content"].update(intercept=3.0))
    assert PrivateLinearRegression.load(saved).intercept_ == 3.0


def test_no_bit_of_a_file_can_flip_unnoticed(saved):
    whole = saved.read_bytes()
    places = np.random.default_rng(0).choice(8 * len(whole), size=10_000, replace=False)
    for place in places:
        changed = bytearray(whole)
        changed[place // 8] ^= 1 << (place % 8)
        try:
            parsed_model(bytes(changed), "model.json")
        except ModelFileError:
            continue
        pytest.fail(f"a flip of bit {place} was not noticed")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"\n", b"\n\n"), (b": ", b":  "), (b'"coef"', b'"\\u0063oef"'), (b"\n}\n", b"\n} \n"), (b"{", b"\xef\xbb\xbf{")],
)
def test_what_json_does_not_mind_is_refused_too(saved, old, new):
    whole = saved.read_bytes()
    assert old in whole
    saved.write_bytes(whole.replace(old, new, 1))
    with pytest.raises(ModelFileError):
        PrivateLinearRegression.load(saved)


@pytest.mark.parametrize("version", [VERSION + 1, 0, "1", None])
def test_another_version_is_refused(saved, version):
    rewritten(saved, lambda document: document.update(version=version))
    with pytest.raises(ModelFileError, match=f"this dpols reads version {VERSION}"):
        PrivateLinearRegression.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(format="other"),
        lambda document: document.pop("format"),
        lambda document: document.update(extra=1),
        lambda document: document.update(content=[]),
        lambda document: document["content"].pop("coef"),
        lambda document: document["content"].pop("report"),
        lambda document: document["content"].pop("feature_names"),
        lambda document: document["content"].pop("feature_map"),
        lambda document: document["content"].pop("inference"),
        lambda document: document["content"].update(inference={"names": ["x0"]}),
        lambda document: document["content"].update(feature_map=3),
        lambda document: document["content"].update(feature_map={"columns": {}, "terms": [], "target": None}),
        lambda document: document["content"].update(coef="abc"),
        lambda document: document["content"].update(intercept=None),
        lambda document: document["content"].update(report=3),
        lambda document: document["content"]["report"].pop("lines"),
        lambda document: document["content"]["report"].pop("asked"),
        lambda document: document["content"]["report"]["lines"][0].update(kind="unknown"),
        lambda document: document["content"]["report"]["lines"][0].pop("times"),
        lambda document: document["content"]["report"]["asked"].update(epsilon=-1.0),
    ],
)
def test_a_file_without_all_its_parts_is_refused(saved, change):
    rewritten(saved, change)
    with pytest.raises(ModelFileError):
        PrivateLinearRegression.load(saved)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b"3", b"{}", b'"text"', b"\xff\xfe", b"not json", b"\x80\x04pickle", b"[" * 100_000],
)
def test_what_is_no_model_file_is_refused(content, tmp_path):
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"file\.json"):
        PrivateLinearRegression.load(path)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 400])
def test_numbers_that_are_none_are_refused(saved, value):
    text = saved.read_text()
    intercept = json.loads(text)["content"]["intercept"]
    assert repr(intercept) in text
    saved.write_text(text.replace(repr(intercept), value))
    with pytest.raises(ModelFileError):
        PrivateLinearRegression.load(saved)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(ModelFileError, match="cannot read"):
            PrivateLinearRegression.load(path)


def test_files_hold_json_with_its_format_and_checksum(saved):
    document = json.loads(saved.read_text())
    assert (document["format"], document["version"]) == (FORMAT, VERSION)
    parts = {"coef", "intercept", "target_range", "feature_names", "feature_map", "report", "inference", "family"}
    assert set(document["content"]) == parts
    assert document["content"]["report"]["private"] is False
    assert read_model(saved) == document["content"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(saved, step, error, monkeypatch):
    before = saved.read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(error):
        write_model(saved, {"coef": [1.0]})
    assert [path.name for path in saved.parent.iterdir()] == ["model.json"]
    assert saved.read_bytes() == before


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(saved):
    before = saved.read_bytes()
    for content in ({"coef": [float("nan")]}, {"coef": object()}):
        with pytest.raises((ValueError, TypeError)):
            write_model(saved, content)
    assert [path.name for path in saved.parent.iterdir()] == ["model.json"]
    assert saved.read_bytes() == before


def test_a_file_appears_only_when_it_is_whole_and_on_disk(tmp_path, monkeypatch):
    path, events = tmp_path / "model.json", []
    true_fsync, true_replace = os.fsync, os.replace

    def fsync(descriptor):
        events.append(("fsync", path.exists()))
        true_fsync(descriptor)

    def replace(source, target):
        events.append(("replace", json.loads(Path(source).read_text())["format"]))
        true_replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    write_model(path, {"a": 1})
    assert events == [("fsync", False), ("replace", FORMAT)]
    assert read_model(path) == {"a": 1}
