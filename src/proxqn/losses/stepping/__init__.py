"""What stochastic and blockwise steps share: dense weights by feature, data by row."""
