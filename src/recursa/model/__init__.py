"""From a file, a table or a builder to a Model: checked, frozen, plain data."""
