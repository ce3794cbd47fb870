"""Work in other processes and threads that is held to its time. Nothing of rewards may enter."""
