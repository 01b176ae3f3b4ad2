"""Availability: recoveries that do not end, entries that are there and not served."""
