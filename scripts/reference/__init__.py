"""The reference pages of docs/reference/, made from what the sources say: one module a language."""
