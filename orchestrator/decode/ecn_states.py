"""Takes the bit fields of ECN from the samples of tcp_info (Linux 6.18 and later)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import ECN_STATES

_OPTION_ECN = 8  # TCPI_OPT_ECN


def note_ecn_states(out: npt.NDArray[np.void], ecn_bits: npt.NDArray[np.uint32]) -> None:
    """Take the bit fields of ECN from their word of tcp_info, into rows that have the options.

    The first kernels with that word had two fields of 16 bits in it: what failed of Accurate ECN,
    and which option was seen. Such a word is known by its high half, or by a mode of 0 of a
    connection that negotiated ECN, and is left out.
    """
    negotiated: npt.NDArray[np.bool] = out["options"] & _OPTION_ECN != 0
    known = (ecn_bits < 2**16) & (~negotiated | (ecn_bits & 3 != 0))
    shift = 0
    for name, bits in ECN_STATES.items():
        out[name][known] = (ecn_bits[known] >> shift) & (2**bits - 1)
        shift += bits
