"""Files that hold what was released: written as a whole or not at all, and read with suspicion."""
