"""Untrusted Python programs, run apart from the process that knows what they should answer."""
