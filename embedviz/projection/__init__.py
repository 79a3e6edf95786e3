"""From vectors of hundreds of numbers to places in a picture: exact PCA at once, UMAP in a process of its own."""
