"""Each example that needs an extra names it where its library is missing."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEEDED = {
    "datasets_map.py MODEL FILE --out OUT": "datasets",
    "ray_tokenize.py MODEL FILE --out OUT": "ray",
    "agent_loop/agent_loop.py": "vllm",
    "long_context_batch/generate.py --model MODEL --folder FOLDER": "vllm",
    "sglang_demo/long_context.py --tokens 1": "sglang",
    "vllm_demo/demo.py": "vllm",
    "vllm_long_context/offline_batch.py FOLDER OUT": "vllm",
    "vllm_long_context/serve.py": "vllm",
}


@pytest.mark.parametrize("command", NEEDED)
@pytest.mark.every_parameter
def test_extra_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a")
    script, *arguments = (str(tmp_path) if word == "FOLDER" else word for word in command.split())
    monkeypatch.setitem(sys.modules, NEEDED[command], None)
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    monkeypatch.setattr(sys, "path", [str((EXAMPLES / script).parent), *sys.path])
    monkeypatch.setattr(sys.stdout, "reconfigure", lambda **_: None, raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    said = f"{ended.value.code} {capsys.readouterr().err}"
    assert f"pip install 'lopt-plugin[{NEEDED[command]}]'" in said
