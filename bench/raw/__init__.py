"""Raw run folders of any size whose truth is known, written as the recorders write them."""
