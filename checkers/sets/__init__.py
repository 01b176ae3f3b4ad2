"""Sets, marks and orders of entries, in NumPy arrays: what every checker is made of."""
