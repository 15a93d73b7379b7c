"""What is computed of the frames: estimates, comparisons, the judgement.

No sentences, no pictures.
"""
