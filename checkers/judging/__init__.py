"""What a property is, how all are run over blocks, and what their findings amount to."""
