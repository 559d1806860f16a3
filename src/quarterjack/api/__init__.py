"""The HTTP server. It has the two health endpoints so far: `/healthz` and `/readyz`."""
