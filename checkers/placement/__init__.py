"""Placement: every write set spreads over enough failure domains."""
