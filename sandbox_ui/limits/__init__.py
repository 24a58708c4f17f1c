"""Limits of the studio and its users: derived from the machine, storage quota, usage."""
