"""Worlds in which a search can be carried out."""
