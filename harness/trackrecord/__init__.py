"""Known bugs of BookKeeper, each found on a release that has it and not on one that has not."""
