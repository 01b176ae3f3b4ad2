"""Judgement: one property a file, in NumPy and Arrow. Knows no Spark and no cluster."""
