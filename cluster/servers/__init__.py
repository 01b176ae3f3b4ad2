"""Servers and clients of a run, whoever runs them: settings, boots, readiness, files, and their cluster."""
