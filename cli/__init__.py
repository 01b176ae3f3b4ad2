"""The verbs of the command line, one a file, imported when called."""
