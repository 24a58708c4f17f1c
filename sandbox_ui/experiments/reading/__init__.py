"""Reading many runs on the page: questions to a model in the background."""
