"""Solutions that the library has no single function for."""
