"""What `winnow plan` forecast of Fashion-MNIST, beside what the pruning study measured."""
