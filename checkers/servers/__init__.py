"""Servers: BP-46's order of events at the boots of bookies."""
