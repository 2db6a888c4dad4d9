"""Why a message of a shared group was delivered again, what was lost, how streams changed hands."""
