"""Planners: from a search problem to a route."""
