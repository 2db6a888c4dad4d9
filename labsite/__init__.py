"""The site: settings, addresses, the ASGI application. Features live in `visualizer`."""
