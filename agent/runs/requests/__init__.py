"""What a run sent to its model: tokens by step, and the requests themselves."""
