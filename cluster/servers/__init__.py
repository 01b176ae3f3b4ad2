"""Servers and clients of a run on any backend: settings, boots, readiness, files, and their cluster."""
