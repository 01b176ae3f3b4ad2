"""Faults: one family a file; a fault is the parameters of its step, and its life with them."""
