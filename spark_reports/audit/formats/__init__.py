"""The log formats: each reads files and returns a frame with the raw columns of `columns.RAW`."""
