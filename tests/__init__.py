"""Tests of Tailrace; see CONTRIBUTING.md for the tiers."""
