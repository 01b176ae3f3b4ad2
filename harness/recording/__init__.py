"""Recording one run: its steps, its quiet end, and the state that they share."""
