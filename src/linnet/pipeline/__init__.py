"""How a model is fitted: plan, row stores, cross-validation, search, the last fit, assembly. Written once.

Memory, disk and a cluster differ in where rows are, not in what is done with them.
"""
