// Replaced by this room's first tests.
