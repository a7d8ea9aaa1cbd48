"""WHAT GOES OVER HTTP: what every app of the package has: safe headers, error pages, files of fixed names,
images, a server on this machine.
"""
