"""Queries against databases that nobody may change."""
