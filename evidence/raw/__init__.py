"""The formats of raw evidence, read and written: clients' histories, the wire log, bookies' files."""
