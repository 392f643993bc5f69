"""The closest that Linux comes to Reno: the same options as `newreno`.

A true Reno leaves fast recovery with the first partial ACK. So it waits for a timeout when several
segments of a window are lost. Linux has no such sender. Without SACK it stays in recovery until all
data that were outstanding are acknowledged. With single losses the two behave alike. With several
losses in a window this profile performs better than the papers' Reno.
"""

from orchestrator.kinds.profiles.newreno import OPTIONS as OPTIONS
