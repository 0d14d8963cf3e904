"""Conversions to and from other libraries; each is imported only when asked for."""
