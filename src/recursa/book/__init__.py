"""Balafoutis & Patel (1991): their Cartesian tensors, and the methods of chapters 5 to 7 by name.

Numbers such as (5.3.46b) are that book's; where its text is wrong or incomplete, the lines are the corrected ones and
say so. All methods work on frames that sit on the joint axes, z along the axis (``model/canonical.py``); the book's
chains are trees here wherever a body may add to its parent's sums.
"""
