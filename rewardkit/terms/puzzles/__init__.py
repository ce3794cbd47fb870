"""What puzzles need: arithmetic that is read without evaluating it, and reasoning-gym's own scoring in a worker."""
