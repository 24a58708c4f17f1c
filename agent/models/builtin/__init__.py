"""The built-in model: SmolLM2-135M with our LoRA adapter, running on this machine."""
