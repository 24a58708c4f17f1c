"""What a person sees and touches. Knows nothing of docker or openai."""
