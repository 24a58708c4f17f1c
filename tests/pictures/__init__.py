"""Pictures that are recorded from the page."""
