"""Spatial operators as expressions: written as in the papers, simplified by their identities, evaluated densely."""
