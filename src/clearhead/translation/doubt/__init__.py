"""Which translations are doubtful: a low score, something not copied, not English."""
