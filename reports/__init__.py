"""How verdicts and runs are shown to people. Judges nothing."""
