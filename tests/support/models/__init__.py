"""Scripted models and endpoints."""
