"""The forms of a trace: a terminal table, Markdown, JSON, and an HTML page."""
