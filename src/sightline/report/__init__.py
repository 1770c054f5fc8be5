"""A run folder as one self-contained HTML page: tables, curves, maps, and searches to step through."""

from sightline.report.page import write_report

__all__ = ["write_report"]
