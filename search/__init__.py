"""Searching: explore draws plans from a seed, replay repeats what was executed, shrink makes it small."""
