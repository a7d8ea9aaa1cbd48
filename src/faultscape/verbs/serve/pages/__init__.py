"""The pages of `label serve`, each with the routes below its address."""
