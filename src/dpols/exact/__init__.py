"""Noise that is exact in law: the rounding of an ideal real-valued draw, decided with as many bits as it takes."""
