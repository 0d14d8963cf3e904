"""Operation counts: of any quantity of a robot, and as the papers' tables have them, beside the printed numbers."""

from recursa.counts.count import count

__all__ = ["count"]
