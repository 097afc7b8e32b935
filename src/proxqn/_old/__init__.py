"""Old import paths of public names; each says where its contents have moved."""
