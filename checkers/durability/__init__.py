"""Durability: every promised entry can be read in the end; the class of each loss."""
