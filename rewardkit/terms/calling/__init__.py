"""Tool calls: how responses write them, which ones a row wants, and how the two are matched. No text is evaluated."""
