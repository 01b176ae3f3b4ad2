"""A failing plan made smaller: what may be taken away, and in which order to try; pure, runs nothing."""
