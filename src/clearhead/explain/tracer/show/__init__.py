"""A trace as a table in the terminal, a page that folds, markdown, or JSON."""
