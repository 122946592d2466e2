"""Private regression in a browser, on one's own machine: data, model, bounds, plan, fit and result.

A thin layer: pages call the functions that the commands call, and a fit is the command ``dpols fit``, in a process of
its own. What is known lies in plain files: a ledger, and a folder for each project.
"""
