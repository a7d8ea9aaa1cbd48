"""Programs whose answers are judged without access to the truth (Blum et al. 2021's third guard)."""
