"""Judgement in NumPy and Arrow: a property is a file, or a folder where it takes several.

Each folder's ``checker`` is what the registry lists. Knows no Spark and no cluster.
"""
