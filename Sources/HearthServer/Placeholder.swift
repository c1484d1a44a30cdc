// Replaced by this room's first types.
