"""Training stages: supervised on demonstrations, and reinforcement on rollouts."""
