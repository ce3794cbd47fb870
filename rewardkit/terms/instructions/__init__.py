"""Instructions that a program can check: IF-Eval's 25 and those of RLVR-IFeval. Offline, and the same every time."""
