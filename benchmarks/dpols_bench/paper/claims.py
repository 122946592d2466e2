"""What the paper claims of its experiments, each with the rule that decides on it.

A claim that a rule refutes stays in the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..datasets import REAL
from .dataset_table import TableRow
from .methods import SMALL_SIGNAL
from .rules import (
    MAIN,
    Evidence,
    Finding,
    adassp_wins,
    beats,
    clips,
    fewer_iterations,
    large_majority,
    linmix_only_when_favourable,
    matches_or_beats,
    on_sphere,
    rises,
    share,
    test_agrees,
    wins_everywhere,
)
from .summary import Results


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and the rule for it."""

    name: str
    text: str
    rule: str
    decide: Callable[[Evidence], Finding]


def judge(results: Results, table: Sequence[TableRow]) -> list[tuple[Claim, dict[str, Finding]]]:
    """Decide on every claim in every kind of accounting that was run."""
    return [
        (claim, {accounting: claim.decide(Evidence(results, accounting, table)) for accounting in results.accountings})
        for claim in CLAIMS
    ]


_IN_PART = "in part above one half"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "main-figures",
        "IHM (T = 3) matches or beats AdaSSP and LinMix on the eight data sets of the main figures.",
        f"IHM matches or beats both in at least 90% of cells; {_IN_PART}",
        share("ihm", ("adassp", "linmix"), MAIN, 0.9),
    ),
    Claim(
        "full-suite",
        "IHM (T = 3) consistently matches or beats AdaSSP and LinMix in the full suite.",
        f"IHM matches or beats both in at least 90% of cells of the real data sets; {_IN_PART}",
        share("ihm", ("adassp", "linmix"), REAL, 0.9),
    ),
    Claim(
        "full-suite-linmix",
        "... of which against LinMix.",
        f"IHM matches or beats LinMix in at least 90% of cells; {_IN_PART}",
        share("ihm", ("linmix",), REAL, 0.9),
    ),
    Claim(
        "full-suite-adassp",
        "... of which against AdaSSP.",
        f"IHM matches or beats AdaSSP in at least 90% of cells; {_IN_PART}",
        share("ihm", ("adassp",), REAL, 0.9),
    ),
    Claim(
        "full-suite-exceptions",
        "... beyond the cases that it names itself: solar, pendulum, fertility, forest, kin40k, tamielectric, 3droad "
        "and pumadyn32nm at eps <= 1.",
        f"IHM matches or beats AdaSSP and LinMix in at least 90% of the other cells; {_IN_PART}",
        share("ihm", ("adassp", "linmix"), REAL, 0.9, exceptions=SMALL_SIGNAL),
    ),
    Claim(
        "linmix-favourable",
        "LinMix beats AdaSSP only where its conditions hold (above all a small residual).",
        f"at least 90% of the cells in which LinMix beats AdaSSP have L / (gamma_m (1 + C_Y^2)) < 1; {_IN_PART}",
        linmix_only_when_favourable,
    ),
    Claim(
        "adassp-small-signal",
        "AdaSSP outperforms IHM with T = 3 at eps <= 1 on solar, pendulum, fertility, forest, kin40k, tamielectric, "
        "3droad and pumadyn32nm.",
        "on each of them AdaSSP beats IHM at more than half of the epsilons up to 1; in part on more than half of them",
        adassp_wins,
    ),
    Claim(
        "two-iterations-gap",
        "There T = 2 substantially reduces the gap.",
        "on each of them the excess of IHM / AdaSSP over 1 (geometric mean, eps <= 1) at least halves; in part on more "
        "than half of them",
        fewer_iterations(halved=True),
    ),
    Claim(
        "two-iterations-match",
        "... and IHM with T = 2 is similar to AdaSSP or better, even at eps <= 1.",
        "on each of them IHM / AdaSSP (geometric mean, eps <= 1) is at most 1.1; in part on more than half of them",
        fewer_iterations(halved=False),
    ),
    Claim(
        "linmix-rises",
        "LinMix's error rises with epsilon on forest, pumadyn32nm and tamielectric.",
        "on each of them the mean at the smallest epsilon beats that at the largest; in part on more than half of them",
        rises("linmix", rising=True),
    ),
    Claim(
        "linmix-larger-sketch",
        "... and k = 12.5 max(d, log(2 / varrho)) remedies it.",
        "on none of them does the mean at the smallest epsilon beat that at the largest; in part on less than half",
        rises("linmix-k12", rising=False),
    ),
    Claim(
        "dp-gd",
        "IHM is better than DP-GD in the large majority of instances.",
        f"IHM beats DP-GD in at least 75% of cells; {_IN_PART}",
        large_majority,
    ),
    Claim(
        "test-risk",
        "Test risk gives the same picture.",
        "in at least 90% of cells of the real data sets the best of AdaSSP, LinMix and IHM on training rows matches or "
        f"beats the others on test rows; {_IN_PART}",
        test_agrees,
    ),
    Claim(
        "mlp-clips",
        "On the MLP features more than 40% of iterations clip at every epsilon.",
        "at each epsilon the lower end of the 95% interval of the share exceeds 40%; in part at more than half of them",
        clips,
    ),
    Claim(
        "mlp-wins",
        "... and IHM still beats AdaSSP and LinMix.",
        f"IHM beats each of them at every epsilon; {_IN_PART} of the comparisons",
        wins_everywhere("ihm", ("adassp", "linmix"), "mlp"),
    ),
    Claim(
        "sphere-more-iterations",
        "On the sphere T = 6 with k = 12 max(d, log) improves on T = 3 where epsilon is large.",
        f"at each epsilon above 1.5 T = 6 beats T = 3; {_IN_PART}",
        on_sphere("ihm", beats, "T = 6 against T = 3"),
    ),
    Claim(
        "sphere-matches-adassp",
        "... which is needed to match AdaSSP there.",
        f"at each epsilon above 1.5 IHM with T = 6 matches or beats AdaSSP; {_IN_PART}",
        on_sphere("adassp", matches_or_beats, "IHM with T = 6 against AdaSSP"),
    ),
)
