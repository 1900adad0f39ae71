"""What studies found, for people: a table on the terminal and one page that needs no network."""
