"""Webots' lookup tables: the value that a sensor returns for a measured number."""

from bisect import bisect_right
from itertools import pairwise

from hilgw.devices.properties import LookupTable


def check_table(table: LookupTable) -> str:
    """Return what is wrong with a table; "" if it is valid."""
    for before, row in pairwise(table):
        if row[0] <= before[0]:
            return f"{row[0]:g} after {before[0]:g}: the first numbers of the rows must increase"
    return ""


def look_up(table: LookupTable, measured: float) -> float:
    """Return the value between two rows, on the straight line from one to the other.

    Beyond the table it is the value of its end; without rows, the measured number (Webots
    reference manual, DistanceSensor, Lookup Table). The third number of a row is noise, which a
    real sensor has by itself.
    """
    if not table:
        return measured
    place = bisect_right(table, measured, key=lambda row: row[0])
    if place == 0:
        return table[0][1]
    if place == len(table):
        return table[-1][1]
    (x0, y0, _), (x1, y1, _) = table[place - 1], table[place]
    return y0 + (y1 - y0) * (measured - x0) / (x1 - x0)
