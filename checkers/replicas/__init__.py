"""Replicas: when repair is through, every entry is on all bookies that its ledger names."""
