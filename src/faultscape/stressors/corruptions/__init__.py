"""The corruptions of Hendrycks and Dietterich 2019, and others, a file for each family."""
