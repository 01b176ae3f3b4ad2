"""Series: every scenario again and again, and the counts of them in the repository."""
