"""The releases of BookKeeper that can be run, and where their programs come from."""
