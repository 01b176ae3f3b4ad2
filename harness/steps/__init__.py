"""The steps of a plan: each a model and the function that runs it on the context."""
