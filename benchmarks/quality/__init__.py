"""Time to quality: dev BLEU over minutes of training, for clearhead and for torch.nn."""
