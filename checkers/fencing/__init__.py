"""Fencing: what bookies answered to it, when ledgers ended, and who added all the same."""
