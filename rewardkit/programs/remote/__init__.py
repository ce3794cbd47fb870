"""Sandboxes on other machines, asked over HTTP. What a program should answer never travels to the program."""

from rewardkit.programs.remote.sandbox import RemoteSandbox

__all__ = ["RemoteSandbox"]
