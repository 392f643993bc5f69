"""Statistics over repetitions: a run gives one value, and repetitions are independent runs.

No function here takes the samples of one run as independent values. scipy is imported when used.
"""
