"""What Label Studio's files are made of: packed runs of its brush, shapes in percent, tasks and who answered
them.
"""
