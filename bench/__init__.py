"""Measurements of speed, as ratios within one run; never part of a test."""
