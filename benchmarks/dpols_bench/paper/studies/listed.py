"""The studies by name."""

from . import clipping, grids, iterations
from .forms import Study

STUDIES: tuple[Study, ...] = (
    Study(
        "linmix-grid",
        "k = 2.5 max(d, log(2 / varrho)) is the best of 1.25, 2.5, 5, 7.5 and 10 for LinMix at eps = 0.5 on the data "
        "sets that favour it.",
        "2.5 has the least geometric mean of the risk over data sets with L < gamma_m (1 + C_Y^2) and lambda_min(X'X) "
        "< gamma_m; in part if it is the best on more of them than any other",
        grids.linmix_cells,
        grids.best_multiplier,
    ),
    Study(
        "iterations",
        "T = 3 minimises 3^-T n + gamma C at n = 2^10, d = 2^7 and eps = 0.5.",
        "the minimum is at 3 with the gamma of the proof, also with C squared as in the bound; in part without that",
        lambda form: (),
        iterations.minimum_at_three,
    ),
    Study(
        "dp-gd-rates",
        "0.25 is the best of seven rates from 0.0625 to 5 for DP-GD at eps = 0.5 on the majority of data sets.",
        "0.25 has the least risk on more than half of the data sets; in part if on more of them than any other rate",
        grids.rate_cells,
        grids.best_rate,
    ),
    Study(
        "allocation",
        "A different allocation of epsilon across the iterations could improve IHM.",
        "with the gradients' squared budget growing or falling geometrically, at the same cost, the geometric mean of "
        "the risk falls by more than 5%; in part by more than 1%",
        grids.allocation_cells,
        grids.best_allocation,
    ),
    Study(
        "clipping",
        "Features of a random network make more than 40% of iterations clip at every epsilon.",
        "the share exceeds 40% at every epsilon for the plain network; in part for another one of the sweep",
        clipping.cells,
        clipping.claimed_share,
    ),
    Study(
        "clipping-ratio",
        "The frequency of clipping grows with chi sqrt(kappa) / (2 - chi).",
        "for every network that clips, share and ratio have a positive rank correlation over the epsilons; in part for "
        "more than half of them",
        clipping.cells,
        clipping.grows_with_ratio,
    ),
)
