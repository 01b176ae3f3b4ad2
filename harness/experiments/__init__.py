"""Many runs: each an experiment with a key, carried out by workers, its outcome stored when it ends."""
