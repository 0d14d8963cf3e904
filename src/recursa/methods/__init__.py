"""Which algorithm answers: quantities that several topics can compute, by the names of their methods."""
