"""Versions of a workspace: manifests, snapshots, blobs."""
