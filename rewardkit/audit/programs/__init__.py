"""Attacks on rewards of programs: what a program does to be paid without solving its task."""
