"""Campaigns: many runs from one file, listed, executed in a worker, stored, decided and reported."""
