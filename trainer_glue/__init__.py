"""What touches a trainer. It imports rewardkit; rewardkit never imports it, except by name from the command line."""
