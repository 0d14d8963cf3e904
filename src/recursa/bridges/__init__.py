"""The robot inside other frameworks: the same quantities, differentiated there."""
