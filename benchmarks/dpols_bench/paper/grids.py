"""Methods on the grids that the paper searched, and IHM with its gradients' budget divided unequally."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpols.mechanisms import Channel
from dpols.privacy import PrivacyBudget
from dpols.randomness import Bits

from .method_row import Method, Options

MULTIPLIERS = (1.25, 2.5, 5.0, 7.5, 10.0)  # of max(d, log(2 / failure)), for LinMix's sketch
RATES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 5.0)  # of DP-GD
ALLOCATIONS = (0.25, 0.5, 2.0, 4.0)  # squared budget of a gradient, in that of the one before it
STEPS = 3  # of IHM and of DP-GD


def linmix_at(multiplier: float) -> str:
    """Return the name of LinMix with this multiplier."""
    return f"linmix-x{multiplier:g}"


def dp_gd_at(rate: float) -> str:
    """Return the name of DP-GD with this rate."""
    return f"dp-gd-rate{rate:g}"


def ihm_at(ratio: float) -> str:
    """Return the name of IHM with this allocation."""
    return f"ihm-allocation{ratio:g}"


def weights(ratio: float) -> tuple[float, ...]:
    """Return each step's share of the gradients' squared budget, times the number of steps."""
    powers = [ratio**step for step in range(STEPS)]
    return tuple(STEPS * power / math.fsum(powers) for power in powers)


def allocating(ratio: float) -> type[Channel]:
    """Return a channel whose gradients share the same squared budget, each step having ``ratio`` times the one before.

    Gaussian releases cost the sum of their squared ratios of sensitivity to noise, so that the cost stays the same.
    """
    shares = weights(ratio)

    class Allocating(Channel):
        def __init__(self, bits: Sequence[Bits]) -> None:
            super().__init__(bits)
            self._sketches = 0

        def mix_gram(self, *arguments: Any, **given: Any) -> Any:
            self._sketches += 1
            return super().mix_gram(*arguments, **given)

        def gaussian(self, statistic: Any, *, multiplier: float) -> Any:
            if self._sketches:  # a gradient; the eigenvalue test comes before the first sketch
                multiplier /= math.sqrt(shares[self._sketches - 1])
            return super().gaussian(statistic, multiplier=multiplier)

    return Allocating


def _sketch(multiplier: float) -> Options:
    def options(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
        return {"sketch_size": max(int(multiplier * max(d, math.log(20.0 / budget.delta))), d + 1)}

    return options


def _rate(rate: float) -> Options:
    def options(n: int, d: int, budget: PrivacyBudget) -> Mapping[str, Any]:
        return {"n_iterations": STEPS, "learning_rate": rate, "norm_bound": 1.0}

    return options


GRIDS: tuple[Method, ...] = (
    *(
        Method(linmix_at(x), f"LinMix, k = {x:g} max(d, log)", "linmix", "#e8542a", "o", _sketch(x))
        for x in MULTIPLIERS
    ),
    *(Method(dp_gd_at(rate), f"DP-GD, rate {rate:g}", "dp-gd", "#222222", "x", _rate(rate)) for rate in RATES),
    *(
        Method(
            ihm_at(ratio),
            f"IHM, each gradient {ratio:g} times the squared budget of the one before",
            "ihm",
            "#188038",
            "D",
            replaced={"ihm.Channel": allocating(ratio)},
        )
        for ratio in ALLOCATIONS
    ),
)
