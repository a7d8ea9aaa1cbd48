"""Any table of scores, models by cases: who is best, what the cases do not tell apart, how stable it is."""
