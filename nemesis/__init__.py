"""Faults: one family a file, each registers its name and its parameters."""
