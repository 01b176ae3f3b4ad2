"""LAC: what clients were told of it, and whether bookies had acknowledged what moved it."""
