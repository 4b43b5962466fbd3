"""Notebooks from the course's content: executed lessons, and problem sets.

`python -m clearhead.learn.build` writes them.
"""
