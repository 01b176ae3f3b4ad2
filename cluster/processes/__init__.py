"""Processes of a run on any backend: who owns them, their boots, their command lines, their end."""
