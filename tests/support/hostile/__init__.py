"""Hostile conditions: attackers, full disks, broken connections."""
