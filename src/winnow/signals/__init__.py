"""What training reveals about each example: training dynamics, embeddings, per-example gradients, ensembles."""
