"""Embedding models: what they are (`models`), how their tokens are counted (`tokens`), how they run (`local`, `hosted`)."""
