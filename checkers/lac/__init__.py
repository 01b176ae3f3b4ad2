"""LAC: the values that clients received, and whether bookies had acknowledged the entries below."""
