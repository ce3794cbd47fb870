"""A formula as a value, and the arithmetic of its operations on arrays. No term runs in here."""
