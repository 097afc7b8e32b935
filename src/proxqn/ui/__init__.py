"""What people look at: progress, tables, pictures."""
