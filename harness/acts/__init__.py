"""The acts of a plan: one function for each step name, carried out on the stage."""
