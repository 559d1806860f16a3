"""The HTTP door. Today it answers whether the program lives and is ready: `health`."""
