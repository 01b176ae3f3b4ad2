"""Histories of other tools that are not of transactions: sets, and logs with offsets.

Pure functions from operations to a judgement; no run, no chunks.
"""
