"""Judgement in NumPy and Arrow: a property is a file, or a folder where it takes several.

Each folder's ``checker`` is what the registry lists. Independent of Spark and of the cluster.
"""
