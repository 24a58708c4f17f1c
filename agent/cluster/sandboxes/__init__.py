"""Sandboxes on the nodes of a Ray cluster, for runs that are carried out here."""
