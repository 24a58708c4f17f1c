"""Reading many runs of an evaluation: filters, notes and labels, questions to a model."""
