"""A run in one archive that others can be given: what goes in, what is left out, and reading it warily."""
