"""The command line: one verb per file, each importing what is heavy inside its function."""
