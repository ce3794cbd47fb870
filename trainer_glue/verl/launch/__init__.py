"""`rewardkit train`: a verl run planned, started, watched, and gone on with after a kill.

`plan` resolves and checks and writes nothing; `run` starts verl below a `supervisor` and shows its `progress`. verl is
a child process, started by its own command line from one config file: nothing here imports verl, torch or ray. This
file imports nothing at all, for the supervisor is a process of its own that has to stay small.
"""
