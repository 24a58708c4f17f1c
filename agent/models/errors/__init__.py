"""Errors of endpoints: their classification and messages for the user."""
