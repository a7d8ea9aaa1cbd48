"""HTTP: what all apps of the package share: safe headers, error pages, static files, images, and a local
server.
"""
