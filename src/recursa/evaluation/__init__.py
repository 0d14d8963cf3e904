"""The way from a quantity and numbers to an answer."""
