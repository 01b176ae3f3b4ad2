"""What clients do in the background: one workload a file, registered by name."""
