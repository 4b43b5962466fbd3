"""Every equality that this project claims, computed again on demand; one peer a file."""
