"""The ledger of vLLM holds for the installed release, and `TouchedName.resolve` notices where it does not."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from packaging.version import Version
from required import skip_without

from lopt_plugin.engines.ledger import TouchedName, differences
from lopt_plugin.engines.vllm.ledger import LEDGER

skip_without("vllm", "LOPT_REQUIRE_VLLM")


@pytest.mark.every_parameter
@pytest.mark.parametrize("touched", LEDGER, ids=[touched.name for touched in LEDGER])
def test_every_name_exists(touched: TouchedName) -> None:
    import vllm

    if Version(vllm.__version__) < Version(touched.since):
        pytest.skip(f"since {touched.since}")
    assert touched.resolve_as_known() is not None
    assert all(touched[:5])
    # What is hooked or overridden is called by the engine: another signature must be noticed at start-up.
    assert touched.parameters or not touched.why.startswith(("Hooked", "Overridden"))


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ((), None),
        (("self", "a", "b"), None),
        (("self", "a", "..."), None),
        (("self", "a"), TypeError),
        (("self", "b", "..."), TypeError),
    ],
)
def test_parameters_are_checked(
    monkeypatch: pytest.MonkeyPatch, parameters: tuple[str, ...], error: type[Exception] | None
) -> None:
    module = ModuleType("an_engine")
    module.Made = SimpleNamespace(method=lambda self, a, b: None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "an_engine", module)
    touched = TouchedName("an_engine:Made.method", "why", "0.1", "without", "until", parameters)
    if error is None:
        assert touched.resolve_as_known() is module.Made.method
    else:
        assert touched.resolve() is module.Made.method
        with pytest.raises(error, match=r"an_engine:Made.method has the parameters \('self', 'a'"):
            touched.resolve_as_known()
    assert len(differences([touched], "0.2")) == (error is not None)
    assert differences([touched._replace(since="0.3")], "0.2") == []
    with pytest.raises(AttributeError):
        touched._replace(name="an_engine:Made.other").resolve()
