"""The methods of the five papers, one package per paper. They work on arrays and networks, without sources or runs.

theory      the perceptron theory of pruning, simulation, scaling fits (Sorscher et al. 2022)
lpntk       the labelled pseudo neural tangent kernel: how training on one example affects another (Guo et al. 2024)
moments     few weighted points with the moments of many (Wang et al. 2025)
narrowing   narrower networks that train like the wide one, by the same moments (Wang et al. 2025)
influence   pruning with a bound on how far a trained head moves (Yang et al. 2023)
relabel     targets from a prior model, and training that starts from them (ReLA: Sun et al. 2024)

Users reach them as `wn.theory`, `wn.lpntk` and so on.
"""
