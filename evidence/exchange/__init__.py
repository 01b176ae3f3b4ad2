"""Exchange: histories of other tools in and out, as columns. Knows no judgement."""
