"""Last layers that know doubt: one file a head, features in, channels out."""
