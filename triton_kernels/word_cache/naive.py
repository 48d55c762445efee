"""What `claim` must have done, in whatever order its programs ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .cache import KEY_BYTES


def violations(
    words: Sequence[bytes],
    slots: Sequence[int | None],
    merging: Sequence[int],
    held: Mapping[int, bytes],
) -> list[str]:
    """The rules that are broken, in words; none if all is well.

    words: the missed words; slots: the slot that each got, or None; merging: the numbers of those to be merged;
    held: what each slot held before.
    """
    broken = []
    claimed: dict[int, bytes] = {}
    listed = set(merging)
    if len(listed) != len(merging):
        broken.append("a word is merged twice")
    for number, (word, slot) in enumerate(zip(words, slots, strict=True)):
        if slot is None:
            if number not in listed:
                broken.append(f"word {number} has no slot and is not merged")
            continue
        if len(word) > KEY_BYTES:
            broken.append(f"word {number} is too long for a slot")
        if slot in held:
            if held[slot] != word:
                broken.append(f"word {number} got the slot of another word")
            if number in listed:
                broken.append(f"word {number} is held and is merged")
        elif claimed.setdefault(slot, word) != word:
            broken.append(f"word {number} shares a slot with another word")
    for slot in claimed:
        winners = [number for number in listed if slots[number] == slot]
        if len(winners) != 1:
            broken.append(f"slot {slot} is filled by {len(winners)} words")
    return broken
