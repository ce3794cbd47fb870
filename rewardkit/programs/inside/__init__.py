"""What runs in the process that is shut in, and what it shares with its caller. Only the standard library may enter."""
