"""The ledger of SGLang holds for the installed release."""

from __future__ import annotations

import os

import pytest
from packaging.version import Version
from required import skip_without

from lopt_plugin.engines.ledger import TouchedName
from lopt_plugin.engines.sglang.ledger import LEDGER

skip_without("sglang", "LOPT_REQUIRE_SGLANG")


@pytest.mark.every_parameter
@pytest.mark.parametrize("touched", LEDGER, ids=[touched.name for touched in LEDGER])
def test_every_name_exists(touched: TouchedName) -> None:
    os.environ["SGLANG_USE_CPU_ENGINE"] = "1"
    import sglang

    if Version(sglang.__version__) < Version(touched.since):
        pytest.skip(f"since {touched.since}")
    assert touched.resolve_as_known() is not None
    assert all(touched[:5])
    # What is hooked or overridden is called by the engine: another signature must be noticed at start-up.
    assert touched.parameters or not touched.why.startswith(("Hooked", "Overridden"))
