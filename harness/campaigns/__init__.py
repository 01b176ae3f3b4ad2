"""Many runs by one file: listed, carried out in a worker, kept as they come, decided and told."""
