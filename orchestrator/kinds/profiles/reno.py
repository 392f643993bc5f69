"""The nearest to Reno that Linux can be: the same as `newreno`.

A true Reno leaves fast recovery with the first partial ACK. So it waits for a timeout when several
segments of a window are lost. Linux has no such sender. Without SACK it stays in recovery until all
that was outstanding is acknowledged. With single losses the two are alike. With several losses in a
window this profile does better than a Reno of the papers.
"""

from orchestrator.kinds.profiles.newreno import OPTIONS as OPTIONS
