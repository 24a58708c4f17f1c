"""Tests of the settings' endpoint and the passport of a model."""
