"""Logs: list-append anomalies of transactions over chained ledgers, in NumPy and SciPy.

``checker.judge_log`` is the way in. Knows columns of transactions, and neither files nor clusters.
"""
