"""The language of the repository as passages: what people read in pages, comments and messages, and the names in the code."""
