"""Points: files that ask about them, written, and answers, read."""
