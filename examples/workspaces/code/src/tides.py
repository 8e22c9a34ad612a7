"""High and low water from harmonic constituents."""


def height(constituents, hours):
    from math import cos, radians

    return sum(a * cos(radians(speed * hours - phase)) for a, speed, phase in constituents)
