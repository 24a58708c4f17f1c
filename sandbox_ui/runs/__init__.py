"""Live runs and the event streams of their followers."""
