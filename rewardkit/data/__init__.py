"""Data sets for training: read, checked row by row, written as the parquet that verl reads. No trainer may enter."""
