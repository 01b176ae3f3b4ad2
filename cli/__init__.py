"""The verbs of the command line, one a file, imported when called.

``**options`` of a verb are passed on as they are: each has the name of a parameter of the function that does
the work, or of a field of the dataclass that it takes, where its type is declared.
"""
