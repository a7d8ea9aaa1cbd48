"""Programs whose answers are judged without their seeing the truth (Blum et al. 2021's third guard)."""
