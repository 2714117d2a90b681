"""Ranges of time."""


def covered(ranges):
    """Length of the union of (start, end) pairs: overlaps count once."""
    total, until = 0, float("-inf")
    for start, end in sorted(ranges):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total
