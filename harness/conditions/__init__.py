"""The conditions that a plan may wait for: each a model and the function that looks at the cluster."""
