"""Reaching: joint positions that put a link where it is wanted."""
