"""A run in one archive, to share: what goes in, what is left out, and how an untrusted one is read."""
