"""Finding out what each example teaches: training dynamics, embeddings, per-example gradients, ensembles."""
