"""Answers: what each life of a bookie acknowledged, owed and denied."""
