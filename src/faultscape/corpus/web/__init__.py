"""Images from the web: what to search for, where to ask, how to download politely, and what is kept.

Conventions: nothing here enters a corpus. Whatever a server says is treated as
hostile input.
"""
