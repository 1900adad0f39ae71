"""Reports of studies for people: a table on the terminal, and one page that needs no network."""
