"""Which way of choosing beats random, and where: Fashion-MNIST, LeNet-5, several fractions kept."""
