"""Tests of the passport of a model."""
