"""Summaries that every checker is made of: sets, times and counts of entries that merge in any order."""
