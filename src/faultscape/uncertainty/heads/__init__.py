"""Last layers that express uncertainty: one file per head, features in, channels out."""
