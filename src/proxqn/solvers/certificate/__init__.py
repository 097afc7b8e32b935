"""What a run proves of its answer: lower bounds on the optimum, and how good ones are found."""
