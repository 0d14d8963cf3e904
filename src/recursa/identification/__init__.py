"""Identification: masses, inertias, friction and payloads of a robot from what was measured on it."""
