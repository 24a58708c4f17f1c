"""Previews of images, audio, video and fonts."""
