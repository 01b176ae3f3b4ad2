"""Known bugs of BookKeeper, each found on an affected release and not found on an unaffected release."""
