"""Ours and what a user would take instead, measured side by side in one run."""
