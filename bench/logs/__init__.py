"""The checker of logs: its histories, its cost, and Elle beside it."""
