"""Constraints beside the tree: their errors, rows, Delassus matrix, multipliers, and the motion that obeys them."""
