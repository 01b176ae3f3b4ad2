"""The actions of a plan: one function for each step name, which runs on the stage."""
