"""Plans from a seed: profiles, the limit on lost copies, and the draws that make a plan."""
