"""Multi-head attention in Keras, torch.nn and clearhead: one function, other conventions."""
