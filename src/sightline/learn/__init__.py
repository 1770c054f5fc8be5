"""Learners: what they have seen so far, turned into where an object may be now."""
