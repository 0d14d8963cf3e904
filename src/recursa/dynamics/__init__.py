"""The named answers, each a page of steps that the sweep engine runs."""
