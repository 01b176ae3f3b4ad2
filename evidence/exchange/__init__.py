"""Exchange: histories of other tools in and out, as columns. Judges nothing."""
