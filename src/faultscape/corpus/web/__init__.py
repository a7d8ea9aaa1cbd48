"""Pictures from the web: what to search for, where to ask, how to download politely, and what of it is kept.

Conventions: nothing here enters a corpus. Whatever a server says is checked as if somebody hostile had
written it.
"""
