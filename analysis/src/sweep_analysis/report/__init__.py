"""The report of one sweep: which figures there are, the folder and the page; and the notebooks."""
