"""The site: settings, URLs, the ASGI application. Its features are in `visualizer`."""
