"""Plans as data: plans, steps, expectations, and loading with exact errors."""
