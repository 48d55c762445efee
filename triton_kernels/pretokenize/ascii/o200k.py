r"""Start bits of the pattern of o200k, and of Tekken (`o200k`).

One bit is carried from word to word. What it means depends on the character before the word:

    newline or slash   it belongs to the `[\r\n/]*` of the run before (state TRAILING)
    letter, apostrophe an apostrophe whose contraction reaches the word's end, or extends beyond it, is really that of
                       a contraction: its word does not end in a contraction already. In a chain like a's's's every
                       second one is.
    other characters   the character two places before is a slash in TRAILING
"""

from __future__ import annotations

import triton
import triton.language as tl

from ..bit_masks import from_after, from_before, groups_of_three, kinds_at, plane_at, run_from, white_space
from ..contractions import every_second, next_links


@triton.jit
def _slashes_and_contractions(planes, words, word, CONTRACTIONS: tl.constexpr):
    two, three = plane_at(planes, words, word, 3), plane_at(planes, words, word, 4)
    slash = two & three
    if CONTRACTIONS:
        two, three = two ^ slash, three ^ slash
    else:
        two, three = slash & 0, slash & 0
    return slash, two, three


@triton.jit
def _real_contractions(two, three, reached, carried):
    """Which of the apostrophes after letters, `two` and `three`, are really those of contractions.

    reached: positions right after the contraction that is carried in; carried: ones where that is real.
    """
    links = two | three
    first = links & ~((two << 2) | (three << 3))
    real = every_second(first, two, three)
    of_carried = every_second(links & reached, two, three)
    return real ^ (carried & (of_carried | next_links(of_carried, two, three)))


@triton.jit
def _others(other, other_1, slash_1, ascii_space, ascii_space_1, letter, letter_2, trailing, trailed, carry):
    r"""Others in ` ?[^\s\p{L}\p{N}]+`, and whether the one before the word is.

    trailed: the bit whether the character before the word is in TRAILING.
    """
    opening = from_before(ascii_space, ascii_space_1, 1) | ~from_after(letter, letter_2)
    after = (other & ~trailing) << 1 | ((other_1 >> 63) & ~trailed)
    found = other & ~trailing & (opening | after)
    before = (other_1 >> 63) & ~trailed
    slash_trailed = carry & (slash_1 >> 62)
    opening_before = (ascii_space_1 >> 62) | ~letter | ((other_1 >> 62) & ~slash_trailed)
    return found, before & opening_before & 1


@triton.jit
def o200k_starts(planes, words, word, carry, phase, ahead, CONTRACTIONS: tl.constexpr):
    letter, capital, digit, newline, plain, ascii_space, other, separator = kinds_at(planes, words, word)
    letter_1, capital_1, digit_1, newline_1, plain_1, ascii_space_1, other_1, _ = kinds_at(planes, words, word - 1)
    letter_2, _, _, newline_2, plain_2, _, _, separator_2 = kinds_at(planes, words, word + 1)
    slash, two, three = _slashes_and_contractions(planes, words, word, CONTRACTIONS)
    slash_1, two_1, three_1 = _slashes_and_contractions(planes, words, word - 1, CONTRACTIONS)
    trailed = carry & ((newline_1 | slash_1) >> 63)
    trailing = newline | slash
    trailing = run_from((newline & from_before(other, other_1, 1)) | (trailing & trailed), trailing)
    after_trailing = (trailing << 1) | trailed
    in_other, in_other_1 = _others(
        other, other_1, slash_1, ascii_space, ascii_space_1, letter, letter_2, trailing, trailed, carry & ~trailed
    )
    after_other = (in_other << 1) | in_other_1
    # An other character in neither a run nor a contraction is the optional first character of a word.
    prefix = other & ~(in_other | trailing)
    prefix_1 = (other_1 >> 63) & ~(in_other_1 | trailed)
    starts = from_before(letter | plain, letter_1 | plain_1, 1)
    starts = ~(starts | (prefix << 1) | prefix_1)
    starts |= capital & from_before(letter ^ capital, letter_1 ^ capital_1, 1)
    others = other & ~(after_other | from_before(ascii_space, ascii_space_1, 1) | (slash & after_trailing))
    if CONTRACTIONS:
        two, three = two & from_before(letter, letter_1, 1), three & from_before(letter, letter_1, 1)
        two_1, three_1 = two_1 & (letter_1 << 1), three_1 & (letter_1 << 1)
        reached = (two_1 >> 62) | (three_1 >> 61)
        carried = ~(carry & ~trailed) + 1
        real = _real_contractions(two, three, reached, carried)
        inside = (real << 1) | ((real & three) << 2) | (carried & (((two_1 | three_1) >> 63) | (three_1 >> 62)))
        starts |= ((real & two) << 2) | ((real & three) << 3) | (carried & reached)
        starts &= ~inside
        others &= ~real
        digits = groups_of_three(digit, digit_1, phase)
    else:
        digits = digit
    last = ~from_after(newline | plain | separator, newline_2 | plain_2 | separator_2)
    spaces = white_space(newline, plain, newline_1, plain_1, trailing, after_trailing, ahead, last)
    return (letter & starts) | digits | others | spaces


@triton.jit
def o200k_after(planes, words, word, carry, CONTRACTIONS: tl.constexpr):
    """The carried bit after each word, and the state of `machines.O200k` there, except for digits."""
    letter, capital, _, newline, _, ascii_space, other, _ = kinds_at(planes, words, word)
    letter_1, _, _, newline_1, _, ascii_space_1, other_1, _ = kinds_at(planes, words, word - 1)
    letter_2, _, _, _, _, _, _, _ = kinds_at(planes, words, word + 1)
    slash, two, three = _slashes_and_contractions(planes, words, word, CONTRACTIONS)
    slash_1, two_1, three_1 = _slashes_and_contractions(planes, words, word - 1, CONTRACTIONS)
    trailed = carry & ((newline_1 | slash_1) >> 63)
    trailing = newline | slash
    trailing = run_from((newline & from_before(other, other_1, 1)) | (trailing & trailed), trailing)
    in_other, _ = _others(
        other, other_1, slash_1, ascii_space, ascii_space_1, letter, letter_2, trailing, trailed, carry & ~trailed
    )
    bit = (trailing >> 63) | (((other & ~slash) >> 63) & (slash & trailing) >> 62)
    state = 5 * (trailing >> 63) + 4 * (in_other >> 63)
    in_word = (letter >> 63) * (2 - (capital >> 63))
    if CONTRACTIONS:
        two, three = two & from_before(letter, letter_1, 1), three & from_before(letter, letter_1, 1)
        two_1, three_1 = two_1 & (letter_1 << 1), three_1 & (letter_1 << 1)
        reached = (two_1 >> 62) | (three_1 >> 61)
        real = _real_contractions(two, three, reached, ~(carry & ~trailed) + 1)
        bit |= (real >> 63) | (real >> 62) | ((real & three) >> 61)
        inside = ((real >> 63) | ((real & three) >> 62)) & 1
        ended = ((real & two) >> 62) | ((real & three) >> 61)
        in_word = tl.where((inside | ended) & 1 != 0, 0, in_word)
        state += 3 * inside
    return bit & 1, state + in_word


@triton.jit
def asks_without_state(planes, words, word, CONTRACTIONS: tl.constexpr):
    """Whether the carried bit before each word is 1 where the state is 0.

    That is after letters, and after an other character (not a slash) that follows a slash.
    """
    letter_1, _, _, _, _, _, other_1, _ = kinds_at(planes, words, word - 1)
    slash_1, _, _ = _slashes_and_contractions(planes, words, word - 1, CONTRACTIONS)
    after_slash = (other_1 & ~slash_1) & (slash_1 << 1)
    return (letter_1 | after_slash) >> 63
