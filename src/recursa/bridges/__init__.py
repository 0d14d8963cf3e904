"""The same robot inside other libraries: what they compute with goes in, and comes out again."""
