"""Matrices of large robots: plans whose walks inward from every body make the entries, in the axes of the root."""
