"""Studies: many variations of one question, on threads or a cluster, with results that survive."""
