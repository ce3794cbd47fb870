"""A formula behind each trainer's own way of asking for rewards. One module a trainer; `base` is what they share.

A module here imports nothing of its trainer before a call needs it: an adapter is the shape of a call.
"""
