"""Is this program right: the tests of a ground truth, the program of a response, and the verdict.

The program runs in a sandbox of :mod:`rewardkit.programs`. It is given inputs and gives back plain data or text; what
is expected stays in this process, where it is compared. Nothing of a response is parsed, compiled or imported here.
"""
