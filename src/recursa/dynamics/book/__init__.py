"""The methods of chapters 5 and 6 of Balafoutis & Patel (1991), by name.

Numbers such as (5.3.46b) are that book's; where its text is wrong or incomplete, the lines are the corrected ones and
say so. All work on frames that sit on the joint axes, z along the axis (``model/canonical.py``); the book's chains are
trees here wherever a body may add to its parent's sums.
"""
