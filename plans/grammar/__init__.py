"""The grammar of a plan's steps and conditions, their order, rounds and names."""
