"""Motions in time: made, read, written, sampled and checked against limits."""
