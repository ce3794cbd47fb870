"""What is known of a formula before any response exists. No data may enter, but a user's own examples."""
