"""What a fit releases beside its method, within the same budget: bounds, clipped values, parts of intervals."""
