"""Recovery: who closed a ledger for its writer, on which answers, and whether they were enough."""
