"""A shape error looked into once more: which two axes met, by which law, after which slip."""
