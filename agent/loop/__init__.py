"""The ReAct loop: a model and its tools, until it submits."""
