"""Bounds that a fit pays for: what they cost, what they find, and that one row moves them no more than declared."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpols import Bounds, CategoricalColumn, FeatureMap, NumericColumn, PaidBounds, PrivateLinearRegression, ols
from dpols.algorithms import ALGORITHMS
from dpols.audit.replay import replay_program, without_row
from dpols.data import ArraySource, BoundedRows
from dpols.errors import BoundsError, BudgetExceeded, DataError
from dpols.privacy import PrivacyBudget, epsilon_of
from dpols.randomness import streams
from dpols.side_releases.alongside import plan_alongside
from dpols.side_releases.counting import UnboundedRows
from dpols.side_releases.paid_bounds import release_bounds

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.extras
BUDGET = PrivacyBudget(1.0, 1e-6)


def skewed(n=100_000, seed=0):
    """Columns as users have them: money, years, flags, something centred, and mostly zeros."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "income": rng.lognormal(9.0, 1.0, n),
            "year": rng.uniform(1950.0, 2010.0, n),
            "flag": rng.integers(0, 2, n).astype(float),
            "score": rng.normal(0.0, 1.0, n),
            "gains": np.where(rng.random(n) < 0.9, 0.0, rng.lognormal(8.0, 1.0, n)),
        }
    )
    table["y"] = 0.5 * table["income"] + 150.0 * (table["year"] - 1980.0) + 3000.0 * table["score"]
    table["y"] += 4000.0 * table["flag"] + rng.normal(0.0, 2000.0, n)
    return table


def released(table, paid, *, budget=BUDGET, seed=0, arithmetic="exact", fit_intercept=True):
    features, target = table.drop(columns="y"), table["y"]
    source = ArraySource(features.to_numpy(), target.to_numpy(), tuple(features.columns))
    planned = paid.releases(budget, source.n_features)
    bounds, recorded, *_ = release_bounds(
        paid,
        planned,
        UnboundedRows(source, "raise", arithmetic),
        fit_intercept=fit_intercept,
        bits=streams(seed, 1)[0],
    )
    assert recorded == planned
    return bounds


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_keep_nearly_all_values_and_are_not_much_wider_than_they_are(arithmetic, seed):
    table = skewed(seed=seed)
    bounds = released(table, PaidBounds(), arithmetic=arithmetic, seed=seed)
    pairs = {**bounds.features, "y": bounds.target}
    for name, (low, high) in pairs.items():
        values = table[name]
        assert ((values < low) | (values > high)).mean() < 0.03, name
        wide = np.quantile(values, 0.999) - np.quantile(values, 0.001)
        assert high - low < 3.0 * wide, name
    assert 1.0 < bounds.x_norm <= np.sqrt(5.0)
    assert bounds.origin == "paid"


def test_outer_limits_help_and_are_kept():
    table = skewed(20_000)
    outer = {"income": (0, 1e9), "year": (1900, 2100), "flag": (0, 1), "score": None, "gains": (0, 1e9)}
    bounds = released(table, PaidBounds(features=outer, target=(-1e9, 1e9)))
    for name, limits in outer.items():
        if limits is not None:
            assert limits[0] <= bounds.features[name][0] < bounds.features[name][1] <= limits[1]
    assert bounds.features["income"][1] < 1e6
    assert bounds.features["year"][0] >= 1900
    assert abs(bounds.target[1]) < 1e6


def test_bounds_for_intervals_cut_next_to_nothing():
    table = skewed()
    tight, roomy = released(table, PaidBounds()), released(table, PaidBounds().for_intervals())
    assert roomy.x_norm is None
    for name in ("income", "score"):
        low, high = roomy.features[name]
        assert table[name].between(low, high).mean() > 0.9999 > table[name].between(*tight.features[name]).mean()
        assert high - low < 12.0 * (tight.features[name][1] - tight.features[name][0])
    limited = released(
        table, PaidBounds({**dict.fromkeys(table.columns[:-1]), "year": (1940.0, 2020.0)}).for_intervals()
    )
    assert limited.features["year"] == (1940.0, 2020.0)


def test_only_a_fit_with_intervals_leaves_room():
    table = skewed(5_000)
    X, y = table[["income"]].to_numpy(), table["y"].to_numpy()
    fits = [
        PrivateLinearRegression(1.0, 1e-6, PaidBounds(), inference=inference, arithmetic="float", random_state=0)
        for inference in (False, True)
    ]
    plain, inferred = (dict(fit.fit(X, y).privacy_report_.bounds)["target"] for fit in fits)
    highs = [float(words.split(",")[-1].strip(" ])")) for words in (plain, inferred)]
    assert highs[1] > 2.0 * highs[0]


def test_a_column_of_which_nothing_is_seen_gets_bounds_that_leave_it_out():
    table = skewed(20_000)
    table["gains"] = 0.0
    bounds = released(
        table, PaidBounds(features={"gains": (0, 1e6), **dict.fromkeys(["income", "year", "flag", "score"])})
    )
    assert bounds.features["gains"] == (-1e6, 1e6)


def test_too_few_rows_still_give_bounds():
    for n in (1, 10, 300):
        bounds = released(skewed(n), PaidBounds(), seed=n)
        assert all(low < high for low, high in [*bounds.features.values(), bounds.target])


def test_a_range_that_the_noise_hid_is_not_said_to_be_found():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.lognormal(7.3, 0.4, 900), "beds": rng.integers(2, 4, 900).astype(float)})
    table["price"] = 150.0 * table["size"] + rng.normal(0.0, 5e4, 900)
    fit = ols("price ~ size + beds", table, epsilon=1.0, delta=1e-5, bounds=PaidBounds(), random_state=0)
    report, words = fit.privacy_report_, "no range was found for 'size', 'price' within the noise"
    assert report.hidden_ranges == ("size", "price")
    assert report.facts[1][1].startswith(words)  # after whether the fit is private
    assert report.advice[0].startswith(words)
    assert fit.summary().facts[0][1].startswith(words)
    assert dict(report.bounds)["size, found"] == "nothing within the noise; the fit took [-1e+09, 1e+09]"
    assert "nothing" not in dict(report.bounds)["beds, found"]
    assert [c.noise_stddev for c in report.coefficients] == [None] * 3  # all are in units of the target
    assert all(row.hidden for row in fit.summary().rows)
    assert report.verdict == "cannot tell"


def test_only_the_coefficient_of_a_hidden_feature_is_hidden_where_the_target_is_found():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": np.exp(rng.uniform(-6.0, 20.0, 2000)), "b": rng.uniform(1.0, 2.0, 2000)})
    table["y"] = 1.0 + 0.5 * table["b"]
    report = ols("y ~ a + b", table, epsilon=1.0, delta=1e-5, bounds=PaidBounds(), random_state=0).privacy_report_
    assert report.hidden_ranges == ("a",)
    assert [c.noise_stddev is None for c in report.coefficients] == [True, False, False]


def test_zeros_that_stand_out_are_no_hidden_range():
    X = np.column_stack((np.zeros(5000), np.linspace(1.0, 2.0, 5000)))
    fit = PrivateLinearRegression(1.0, 1e-5, PaidBounds(), random_state=0).fit(X, X[:, 1])
    assert fit.privacy_report_.hidden_ranges == ()


@pytest.mark.parametrize(
    "limits",
    [(1e16, 1e16 + 4.0), (-1e-40, 0.0), (-1e40, 1e40), (5.0, 5.0 + 1e-12), (0.0, 1e-39), (-3.0, 1e12), (1e39, 1e40)],
    ids=str,
)
def test_whatever_limits_and_values_are_there_are_bounds_within_them(limits):
    """An error after the counts are released would have cost the budget for nothing."""
    rng = np.random.default_rng(0)
    low, high = limits
    for values in (np.full(2000, low), rng.uniform(low, high, 2000), rng.choice([low, high], 2000), np.zeros(2000)):
        table = pd.DataFrame({"a": values, "b": values, "y": values})
        for seed in range(3):
            bounds = released(table, PaidBounds(features=[limits, limits], target=limits), seed=seed)
            bounds.row_map(n_features=2, columns=["a", "b"], fit_intercept=True)
            assert low <= bounds.target[0] < bounds.target[1] <= high


@pytest.mark.parametrize("method", sorted(ALGORITHMS))
@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
def test_a_fit_with_paid_bounds_costs_what_was_asked(method, relation):
    table = skewed(3000)
    model = PrivateLinearRegression(
        2.0, 1e-5, PaidBounds(share=0.3), method=method, neighbours=relation, arithmetic="float", random_state=0
    ).fit(table, "y")
    report = model.privacy_report_
    assert report.spent_epsilon <= 2.0
    assert report.spent_epsilon >= 1.99
    assert report.bounds_origin == "paid"
    assert [line.what for line in report.lines][:3] == [
        "counts of values by magnitude",
        "counts of values by quantile",
        "counts of norms of rows",
    ]
    if not report.staged:
        assert epsilon_of(report.releases, 1e-5, relation=relation) == pytest.approx(report.spent_epsilon)


def test_a_share_of_the_budget_goes_to_the_bounds_and_the_rest_to_the_method():
    table = skewed(3000)
    shares = []
    for share in (0.05, 0.4):
        model = PrivateLinearRegression(1.0, 1e-6, PaidBounds(share=share), method="adassp", random_state=0)
        multipliers = [r.multiplier for r in model.fit(table, "y").privacy_report_.releases]
        squared = np.array(multipliers, dtype=float) ** -2.0
        shares.append(squared[:3].sum() / squared.sum())
    np.testing.assert_allclose(shares, (0.05, 0.4), rtol=1e-6)


def test_a_fit_with_paid_bounds_is_close_to_one_with_good_public_bounds():
    table = skewed()
    features = table.drop(columns="y")
    good = Bounds(
        features={"income": (0, 1.2e5), "year": (1950, 2010), "flag": (0, 1), "score": (-3, 3), "gains": (0, 5e4)},
        target=(-1e4, 7e4),
    )
    wide = Bounds(features=dict.fromkeys(features.columns, (-1e6, 1e6)), target=(-1e6, 1e6))

    def error(bounds, seed):
        model = PrivateLinearRegression(1.0, 1e-6, bounds, method="whitened", random_state=seed).fit(table, "y")
        return float(np.sqrt(np.mean((model.predict(features) - table["y"]) ** 2)))

    paid = np.median([error(PaidBounds(), seed) for seed in range(3)])
    public = np.median([error(good, seed) for seed in range(3)])
    low, high = np.array([good.features[name] for name in features.columns]).T
    design = np.column_stack((np.clip(features, low, high), np.ones(len(table))))
    best = np.linalg.lstsq(design, np.clip(table["y"], *good.target))[0]
    clipped = np.clip(features.to_numpy() @ best[:-1] + best[-1], *good.target)
    assert public < 1.01 * np.sqrt(np.mean((clipped - table["y"]) ** 2))  # least squares on what the bounds leave
    assert paid < 1.35 * public
    assert error(wide, 0) > 1.1 * paid


numbers = st.one_of(st.sampled_from([0.0, 1e-300, -1.0, 5.0, 1e9, -1e308, 1e308]), st.floats(-100.0, 100.0))
tables = st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=6).map(np.array)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("method", ["ihm", "whitened", "adassp", "linmix"])
@settings(max_examples=15)
@given(table=tables, row=st.integers(0, 5), seed=st.integers(0, 3))
def test_one_row_moves_the_counts_and_the_fit_by_no_more_than_declared(method, arithmetic, table, row, seed):
    paid, row = PaidBounds(features=[(0.0, 10.0), None], share=0.2), row % len(table)
    planned = paid.releases(BUDGET, 2)
    plan = plan_alongside(ALGORITHMS[method], BUDGET, planned, n_rows=len(table), n_features=3)

    def program(rows, bits):
        unbounded = UnboundedRows(rows.source, "zero", arithmetic)
        bounds, recorded, *_ = release_bounds(paid, planned, unbounded, fit_intercept=True, bits=bits[0])
        row_map = bounds.row_map(n_features=2, columns=None, fit_intercept=True)
        fit = ALGORITHMS[method].run(BoundedRows(rows.source, row_map, "zero", arithmetic), plan, bits)
        limits = np.array([*bounds.features, bounds.target])
        return SimpleNamespace(
            theta=fit.theta, transcript={**fit.transcript, "limits": limits}, releases=(*recorded, *fit.releases)
        )

    features, target = table[:, :-1], table[:, -1]
    outer = Bounds(x_norm=1.0, y_abs=1.0).row_map(n_features=2, columns=None, fit_intercept=True)
    pair = [
        BoundedRows(ArraySource(*arrays), outer, "zero", arithmetic)
        for arrays in ((features, target), without_row(features, target, row))
    ]
    report = replay_program(program, *pair, bits=streams(seed, 1))
    assert len(report.calls) >= 4
    assert report.same_path
    assert report.same_output
    assert report.accounted
    assert all(call.within for call in report.calls)


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_a_row_without_a_usable_weight_is_no_row(weight, arithmetic):
    rng = np.random.default_rng(0)
    X, weights = rng.uniform(-1.0, 1.0, (300, 3)), rng.choice([0.5, 1.0, 1e308], 300)
    how = {"max_weight": 2.0, "neighbours": "add-remove", "bad_rows": "zero", "random_state": 1}

    def saved(X, y, weights):
        model = PrivateLinearRegression(3.0, 1e-6, PaidBounds(), arithmetic=arithmetic, **how)
        return model.fit(X, y, sample_weight=weights).to_json()

    longer = np.vstack([X, np.full(3, 50.0)]), np.append(X.sum(axis=1), 9.0), np.append(weights, weight)
    assert saved(*longer) == saved(X, X.sum(axis=1), weights)


def test_a_release_that_was_not_charged_is_refused(monkeypatch):
    """The fit accounts for what the channel recorded, not for what the bounds say they released."""
    table = skewed(2000)

    def cheap(self, budget, n_features):
        return tuple(type(r)(10.0 * r.multiplier) for r in original(self, budget, n_features))

    original = PaidBounds.releases
    real = release_bounds

    def dear(paid, releases, *args, **kwargs):
        return real(paid, tuple(type(r)(r.multiplier / 30.0) for r in releases), *args, **kwargs)

    monkeypatch.setattr(PaidBounds, "releases", cheap)
    PrivateLinearRegression(1.0, 1e-6, PaidBounds(), random_state=0).fit(table, "y")
    monkeypatch.setattr("dpols.fitting.running.release_bounds", dear)
    with pytest.raises(BudgetExceeded):
        PrivateLinearRegression(1.0, 1e-6, PaidBounds(), random_state=0).fit(table, "y")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"share": 0.0}, "share=0.0"),
        ({"share": 1.0}, "share=1.0"),
        ({"keep": 1.5}, "keep=1.5"),
        ({"features": "age"}, "features='age'"),
        ({"features": {"age": (5, 1)}}, "high end first"),
        ({"target": (0, np.inf)}, "finite"),
        ({"resolution": 1.0, "largest": 0.5}, "less than largest"),
        ({"resolution": -1.0}, "resolution=-1.0"),
        ({"target": (0, 1e-50)}, "at least 1e-40 apart"),
        ({"target": (0, 1e50)}, "within 1e\\+40 of 0"),
    ],
)
def test_wrong_declarations_are_named(arguments, message):
    with pytest.raises(BoundsError, match=message):
        PaidBounds(**arguments)


def test_columns_must_be_those_of_the_data_and_nothing_is_released_if_not():
    table = skewed(100)
    with pytest.raises(BoundsError, match="bounds name the column 'wealth', which the table does not have"):
        PrivateLinearRegression(1.0, 1e-6, PaidBounds(features={"wealth": None})).fit(table, "y")
    with pytest.raises(BoundsError, match="has 1 bounds"):
        PrivateLinearRegression(1.0, 1e-6, PaidBounds(features=[None])).fit(table.drop(columns="y"), table["y"])
    table.loc[3, "income"] = np.nan
    with pytest.raises(DataError, match="Input contains NaN or infinity, and"):
        PrivateLinearRegression(1.0, 1e-6, PaidBounds()).fit(table, "y")


@pytest.mark.parametrize("seed", range(2))
def test_categories_keep_their_bounds_and_numbers_get_theirs(seed):
    rng = np.random.default_rng(seed)
    n = 20_000
    age, region = rng.uniform(20, 60, n), rng.choice(["north", "south", "west"], n, p=[0.6, 0.395, 0.005])
    table = pd.DataFrame({"age": age, "region": region, "pay": 10 + age + 20 * (region == "south")})
    columns = {"age": NumericColumn(-1e4, 1e4), "region": CategoricalColumn(["north", "south", "west"])}
    made = FeatureMap(columns, target=(-1e5, 1e5))
    model = PrivateLinearRegression(2.0, 1e-6, PaidBounds(share=0.2), feature_map=made, random_state=seed)
    model.fit(table, "pay")
    assert model.coef_[:2] == pytest.approx([1.0, 20.0], abs=1.0)
    assert model.predict(table[:5]) == pytest.approx(table["pay"][:5], abs=5.0)
    shown = dict(model.privacy_report_.bounds)
    low, high = map(float, shown["age, found"].strip("[]").split(","))
    assert -10 < low <= 21
    assert 59 <= high < 200
    assert "region[south], found" not in shown
    assert model.privacy_report_.bounds_origin == "paid"


def test_limits_are_given_once():
    made = FeatureMap({"age": NumericColumn(0, 100)}, target=(0, 1))
    paid = PaidBounds(features={"age": (0, 100)})
    with pytest.raises(BoundsError, match="come from feature_map; give them there only"):
        PrivateLinearRegression(1.0, 1e-6, paid, feature_map=made).fit([[1.0]], [1.0])
