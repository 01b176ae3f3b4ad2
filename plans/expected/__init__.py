"""What a plan expects of a run, its controls, and the comparison of both with what was judged."""
