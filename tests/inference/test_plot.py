"""The coefficient plot: bars of the intervals' widths, of which the inner ones are privacy noise."""

import numpy as np
import pytest
from inference_problems import fitted, table

from dpols.errors import ParameterError
from dpols.inference.plot import PRIVACY, WHOLE

pytest.importorskip("matplotlib").use("Agg")
pytestmark = pytest.mark.extras


def widths(ax, colour):
    from matplotlib.colors import to_rgba

    return np.array([bar.get_width() for bar in ax.patches if bar.get_facecolor() == to_rgba(colour)])


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_privacy_noise_is_told_from_the_rest(axes):
    model = fitted(*table(20_000))
    assert model.plot_coefficients(ax=axes) is axes
    expected = model.inference_.standard_errors("data") / model.inference_.standard_errors()
    np.testing.assert_allclose(widths(axes, PRIVACY) / widths(axes, WHOLE), expected, rtol=1e-6)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x0", "x1", "intercept"]
    shown = [text.get_text() for text in axes.texts]
    low, high = model.inference_.conf_int()[0]
    assert f"{model.inference_.estimate[0]:.5g} [{low:.5g}, {high:.5g}]" in shown
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"privacy noise alone", "95% interval"}


def test_for_the_data_all_noise_is_privacy_noise_and_names_choose(axes):
    model = fitted(*table(20_000))
    model.plot_coefficients(0.1, names=["intercept", "x0"], target="data", ax=axes)
    np.testing.assert_allclose(widths(axes, PRIVACY), widths(axes, WHOLE), rtol=1e-6)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["intercept", "x0"]
    with pytest.raises(ParameterError, match="'hours', which is no coefficient"):
        model.plot_coefficients(names=["hours"], ax=axes)


def test_what_the_noise_hides_is_said(axes):
    model = fitted(*table(200), epsilon=0.5)
    model.plot_coefficients(ax=axes)
    assert [text.get_text() for text in axes.texts] == ["hidden by the noise"] * 3
    assert not axes.patches


def test_without_axes_a_figure_is_made():
    from matplotlib import pyplot

    ax = fitted(*table(2000)).plot_coefficients()
    assert ax.figure.get_size_inches()[1] > 2.0
    pyplot.close(ax.figure)
