"""Durability: what was promised is there in the end, and the class of each loss."""
