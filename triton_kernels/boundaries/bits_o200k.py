r"""Start bits of the pattern of o200k, and of Tekken (`o200k`).

What is carried from word to word is one bit, whose meaning what stands before the word tells:

    newline or slash   it belongs to the `[\r\n/]*` of the run before (state TRAILING)
    letter, apostrophe an apostrophe whose contraction reaches the word's end, or beyond it, really is one of a
                       contraction: its word does not end in a contraction already. In a chain like a's's's every
                       second one is.
    other characters   the character two places before is a slash in TRAILING
"""

from __future__ import annotations

import triton
import triton.language as tl

from .bit_words import from_before, from_behind, groups_of_three, kinds_at, plane_at, run_from, white_space


@triton.jit
def next_links(links, two, three):
    """The apostrophes right behind the contractions of `links`."""
    return (((links & two) << 2) | ((links & three) << 3)) & (two | three)


@triton.jit
def every_second(first, two, three):
    """Chains from their first links: each second one."""
    found = first
    front = next_links(next_links(first, two, three), two, three)
    while tl.max((front != 0).to(tl.int32), 0) > 0:
        found |= front
        front = next_links(next_links(front, two, three), two, three)
    return found


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
    """Which of the apostrophes behind letters, `two` and `three`, are those of contractions.

    reached: places right behind the contraction that is carried in; carried: ones where that is real.
    """
    links = two | three
    first = links & ~((two << 2) | (three << 3))
    real = every_second(first, two, three)
    of_carried = every_second(links & reached, two, three)
    return real ^ (carried & (of_carried | next_links(of_carried, two, three)))


@triton.jit
def _others(other, other_1, slash_1, blank, blank_1, letter, letter_2, trailing, trailed, carry):
    r"""Others in ` ?[^\s\p{L}\p{N}]+`, and whether the one before the word is.

    trailed: the bit whether the character before the word is in TRAILING.
    """
    opening = from_before(blank, blank_1, 1) | ~from_behind(letter, letter_2)
    behind = (other & ~trailing) << 1 | ((other_1 >> 63) & ~trailed)
    found = other & ~trailing & (opening | behind)
    before = (other_1 >> 63) & ~trailed
    slash_trailed = carry & (slash_1 >> 62)
    opening_before = (blank_1 >> 62) | ~letter | ((other_1 >> 62) & ~slash_trailed)
    return found, before & opening_before & 1


@triton.jit
def o200k_bits(planes, words, word, carry, phase, ahead, CONTRACTIONS: tl.constexpr):
    letter, capital, digit, newline, plain, blank, other, separator = kinds_at(planes, words, word)
    letter_1, capital_1, digit_1, newline_1, plain_1, blank_1, other_1, _ = kinds_at(planes, words, word - 1)
    letter_2, _, _, newline_2, plain_2, _, _, separator_2 = kinds_at(planes, words, word + 1)
    slash, two, three = _slashes_and_contractions(planes, words, word, CONTRACTIONS)
    slash_1, two_1, three_1 = _slashes_and_contractions(planes, words, word - 1, CONTRACTIONS)
    trailed = carry & ((newline_1 | slash_1) >> 63)
    trailing = newline | slash
    trailing = run_from((newline & from_before(other, other_1, 1)) | (trailing & trailed), trailing)
    behind_trailing = (trailing << 1) | trailed
    in_other, in_other_1 = _others(
        other, other_1, slash_1, blank, blank_1, letter, letter_2, trailing, trailed, carry & ~trailed
    )
    behind_other = (in_other << 1) | in_other_1
    # What is neither in a run nor of a contraction is the optional first character of a word.
    prefix = other & ~(in_other | trailing)
    prefix_1 = (other_1 >> 63) & ~(in_other_1 | trailed)
    starts = from_before(letter | plain, letter_1 | plain_1, 1)
    starts = ~(starts | (prefix << 1) | prefix_1)
    starts |= capital & from_before(letter ^ capital, letter_1 ^ capital_1, 1)
    others = other & ~(behind_other | from_before(blank, blank_1, 1) | (slash & behind_trailing))
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
    last = ~from_behind(newline | plain | separator, newline_2 | plain_2 | separator_2)
    spaces = white_space(newline, plain, newline_1, plain_1, trailing, behind_trailing, ahead, last)
    return (letter & starts) | digits | others | spaces


@triton.jit
def o200k_behind(planes, words, word, carry, CONTRACTIONS: tl.constexpr):
    """The carried bit behind each word, and the state of `machines.O200k` there, but for digits."""
    letter, capital, _, newline, _, blank, other, _ = kinds_at(planes, words, word)
    letter_1, _, _, newline_1, _, blank_1, other_1, _ = kinds_at(planes, words, word - 1)
    letter_2, _, _, _, _, _, _, _ = kinds_at(planes, words, word + 1)
    slash, two, three = _slashes_and_contractions(planes, words, word, CONTRACTIONS)
    slash_1, two_1, three_1 = _slashes_and_contractions(planes, words, word - 1, CONTRACTIONS)
    trailed = carry & ((newline_1 | slash_1) >> 63)
    trailing = newline | slash
    trailing = run_from((newline & from_before(other, other_1, 1)) | (trailing & trailed), trailing)
    in_other, _ = _others(
        other, other_1, slash_1, blank, blank_1, letter, letter_2, trailing, trailed, carry & ~trailed
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

    That is behind letters, and behind an other character, no slash, that a slash stands before.
    """
    letter_1, _, _, _, _, _, other_1, _ = kinds_at(planes, words, word - 1)
    slash_1, _, _ = _slashes_and_contractions(planes, words, word - 1, CONTRACTIONS)
    behind_slash = (other_1 & ~slash_1) & (slash_1 << 1)
    return (letter_1 | behind_slash) >> 63
