"""What a fit releases beside its method, within the same budget: bounds, and counts of clipped values."""
