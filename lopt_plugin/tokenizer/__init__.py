"""The Hugging Face interface: accelerated tokenizers and their calls."""

from .accelerated import (
    _restore as _restore,  # pickles made by version 0.1 name it here
    accelerate,
    from_pretrained,
)

__all__ = ["accelerate", "from_pretrained"]
