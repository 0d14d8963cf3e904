"""Robot files: readers from text to a Description, writers back, and the table that tells formats apart."""
