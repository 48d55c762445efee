"""`python -m lopt_plugin.unicode_tables.derive` writes the tables to ship for the installed `tokenizers`."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from .. import bert, table
from ..bert import BertOptions
from . import bert as derive_bert, classes, graphemes, normalizers

SHIPPED: tuple[BertOptions | None, ...] = (
    None,
    BertOptions(True, True, None, True),
    BertOptions(True, True, None, False),
    BertOptions(True, True, False, True),
    BertOptions(True, True, False, False),
)


def main() -> None:
    folder, version = Path(table.__file__).parent, tokenizers.__version__
    character_classes = classes.derive()
    character_classes.write(folder / table.file_name(version))
    classes.derive_with_han(character_classes).write(folder / table.file_name(version, "han"))
    normalizers.derive().write(folder / table.file_name(version, "normalizers"))
    graphemes.derive().write(folder / table.file_name(version, "graphemes"))
    for options in SHIPPED:
        characters = derive_bert.derive(options, character_classes)
        characters.write(folder / bert.file_name(options, "bert", version))
    for path in sorted(folder.glob(f"*_{version}_*.npz")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
