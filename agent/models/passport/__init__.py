"""What is known of a model at an endpoint, and how it was found out."""
