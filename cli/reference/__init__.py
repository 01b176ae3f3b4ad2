"""Pages of the reference that are generated from what the program declares; ``scripts/docs`` writes them."""
