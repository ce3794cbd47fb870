"""Ways to score many files on many machines. Each engine gives what the local one gives, in the same order."""
