"""What comes out, judged: BLEU and chrF, two systems compared, exact match, alignment error."""
