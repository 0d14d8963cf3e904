"""Runs: what comes out of a simulation, and its files."""
