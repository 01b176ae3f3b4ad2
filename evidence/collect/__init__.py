"""Raw evidence to tables, as pure functions: lines and bytes in, Arrow tables and damage out.

Independent of Spark and of the run folder's layout beyond the given files; judges nothing.
"""
