"""Many runs: each an experiment with a key, run by workers; its outcome is stored when it ends."""
