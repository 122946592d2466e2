"""The paper's preprocessing, its risks, and its table of data sets."""

import functools

import numpy as np
import pytest

from dpols_bench import datasets
from dpols_bench.paper.dataset_table import measure
from dpols_bench.paper.preprocessing import prepare
from dpols_bench.paper.published import PUBLISHED, published
from dpols_bench.paper.risk import risk_of

AVAILABLE = [row for row in PUBLISHED if row.name not in ("3droad", "buzz", "slice")]
FOLD_KNOWN = [row for row in AVAILABLE if row.fold is not None]
LOSS_RATIO_FOLD_KNOWN = ("fertility", "forest", "kin40k", "servo", "yacht")


@functools.cache
def measured(name):
    data = prepare(datasets.load(name))
    return measure(data, risk_of(data))


def losses(row):
    """L / n over other splits."""
    dataset = datasets.load(row.name)
    keys = [{"fold": fold} for fold in range(10)] if row.split == "folds" else [{"split_seed": s} for s in range(25)]
    prepared = (prepare(dataset, **key) for key in keys)
    return [risk_of(data).loss / len(data.target) for data in prepared]


def synthetic(n=200, d=5, *, dependent=False, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, d))
    if dependent:
        features[:, -1] = features[:, 0] - features[:, 1]
    target = features @ rng.standard_normal(d) + rng.standard_normal(n)
    names = tuple(map(str, range(d)))
    return prepare(datasets.Dataset("made-up", "Made up", features, target, names, "y", "here", "none"))


def test_training_rows_have_norm_and_target_at_most_1():
    data = prepare(datasets.load("diabetes"))
    assert data.features.shape == (353, 10)
    assert np.linalg.norm(data.features, axis=1).max() == pytest.approx(1.0, abs=1e-12)
    assert np.abs(data.target).max() == 1.0


def test_test_rows_are_the_others_in_the_same_units():
    dataset = datasets.load("diabetes")
    data = prepare(dataset)
    assert len(data.target) + len(data.test_target) == len(dataset.target)
    scale = np.sort(dataset.target)[-1] / max(data.target.max(), data.test_target.max())
    together = np.sort(np.concatenate((data.target, data.test_target)) * scale)
    np.testing.assert_allclose(together, np.sort(dataset.target))


def test_another_seed_gives_another_split():
    dataset = datasets.load("diabetes")
    assert prepare(dataset, split_seed=1).target.sum() != prepare(dataset).target.sum()


@pytest.mark.parametrize("dependent", [False, True])
def test_excess_risks_are_differences_of_losses(dependent):
    data = synthetic(dependent=dependent)
    risk = risk_of(data)
    theta = np.random.default_rng(1).standard_normal((3, 5))
    best = np.linalg.lstsq(data.features, data.target, rcond=None)[0]

    def loss(features, target, theta):
        return np.square(target - theta @ features.T).mean(axis=1)

    train = loss(data.features, data.target, theta) - loss(data.features, data.target, best[None])
    test = loss(data.test_features, data.test_target, theta) - loss(data.test_features, data.test_target, best[None])
    np.testing.assert_allclose(risk.train_excess(theta), train, rtol=1e-9)
    np.testing.assert_allclose(risk.test_excess(theta), test, rtol=1e-8, atol=1e-10)
    assert risk.loss / risk.n == pytest.approx(float(loss(data.features, data.target, best[None])[0]))
    assert risk.train_excess(risk.coefficients[None])[0] < 1e-25


def test_excess_risk_keeps_its_digits_where_features_are_all_but_dependent():
    data = synthetic()
    features = data.features.copy()
    features[:, 0] *= 1e-9
    scaled = type(data)(data.name, features, data.target, data.test_features, data.test_target)
    risk, reference = risk_of(scaled), risk_of(data)
    theta = np.random.default_rng(1).standard_normal((3, 5))
    np.testing.assert_allclose(risk.train_excess(theta * [1e9, 1, 1, 1, 1]), reference.train_excess(theta), rtol=1e-6)


@pytest.mark.parametrize("row", AVAILABLE, ids=lambda row: row.name)
def test_sizes_equal_the_papers(row, data_dir):
    assert (measured(row.name).n, measured(row.name).d) == (row.n, row.d)


@pytest.mark.parametrize("row", FOLD_KNOWN, ids=lambda row: row.name)
def test_eigenvalues_equal_the_papers_where_the_fold_is_known(row, data_dir):
    ours = measured(row.name)
    for mine, printed in ((ours.smallest, row.smallest), (ours.smallest_joint, row.smallest_joint)):
        decimals = len(str(printed).partition(".")[2])
        assert mine == pytest.approx(printed, rel=0.0, abs=10.0**-decimals)  # some are cut off rather than rounded


@pytest.mark.parametrize("row", FOLD_KNOWN, ids=lambda row: row.name)
def test_the_clipping_ratio_follows_what_was_printed(row, data_dir):
    assert measured(row.name).clipping_ratio == pytest.approx(row.clipping_ratio, abs=0.003)


@pytest.mark.parametrize("name", LOSS_RATIO_FOLD_KNOWN)
def test_the_loss_ratio_follows_what_was_printed(name, data_dir):
    assert measured(name).loss_ratio == pytest.approx(published(name).loss_ratio, rel=0.01)


@pytest.mark.parametrize("row", AVAILABLE, ids=lambda row: row.name)
def test_the_loss_lies_within_the_range_of_the_splits(row, data_dir):
    if row.name == "breastcancer":
        pytest.xfail("the published loss is that of a solver with a looser rank cutoff")
    printed = 0.0 if row.loss_over_n == "<1e-3" else row.loss_over_n
    rounding = 1e-3 if printed == 0.0 else 5e-4
    found = losses(row)
    assert min(found) - rounding <= printed <= max(found) + rounding
