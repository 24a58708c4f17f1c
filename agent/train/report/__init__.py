"""Tables and plots of a training."""
