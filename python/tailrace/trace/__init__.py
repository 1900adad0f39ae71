"""What programs do to files: logs of their calls, as `tailrace run` makes them."""
