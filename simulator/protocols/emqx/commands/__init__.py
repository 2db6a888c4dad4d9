"""The commands of a simulated EMQX: `declared` lists them, `effects` carries them out."""
