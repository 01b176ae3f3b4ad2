"""Raw evidence to tables, as pure functions: lines and bytes in, Arrow tables and damage out.

Knows no Spark, no run folder's layout beyond the files it is handed, and judges nothing.
"""
