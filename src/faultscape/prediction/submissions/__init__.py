"""Programs whose answers are judged without their seeing the truth (S4's third guard)."""
