"""Other trainers behind one small adapter each: the same problem in, weights and a history out."""
