"""A formula over a batch: what runs when, on which rows, and what it comes to. No trainer may enter."""
