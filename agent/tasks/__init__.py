"""Tasks with a known answer: their record, their rewards, and a generator of them."""
