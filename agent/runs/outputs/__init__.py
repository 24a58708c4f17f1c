"""What a run's journal keeps in files of their own: long outputs and pictures."""
