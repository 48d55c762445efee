r"""Start bits of the pattern of o200k, and of Tekken, on masks of 64 bytes a lane.

States are those of `machines.O200k`. Whether a byte is in ` ?[^\s\p{L}\p{N}]+` (IN_OTHER) or in the `[\r\n/]*` after
that (TRAILING) depends on the character and on which of these the one before was in. That is a function of three
values; the functions of all bytes up to each one are composed at distances that double.
"""

from __future__ import annotations

import triton
import triton.language as tl

from . import machines
from .bit_masks import bit_where, from_before, ones_where, run_from, run_up_to, white_space
from .contractions import every_second, next_links
from .digits import digit_groups
from .planes import groups_at, kind_bits_at, of_next, plane_at

UPPER_PART = tl.constexpr(machines.O200k.UPPER_PART)
LOWER_PART = tl.constexpr(machines.O200k.LOWER_PART)
SUFFIX = tl.constexpr(machines.O200k.SUFFIX)
IN_OTHER = tl.constexpr(machines.O200k.IN_OTHER)
TRAILING = tl.constexpr(machines.O200k.TRAILING)
ONE_DIGIT = tl.constexpr(machines.O200k.ONE_DIGIT)


@triton.jit
def letters_and_marks_at(planes, words, word):
    """Characters of words, and of these the upper-case letters, the lower-case ones, and the marks."""
    k0, k1, k2, k3 = kind_bits_at(planes, words, word)
    case = k2 & ~k1
    low = ~(k3 | k2) & k1
    return case | low, case & ~k0, case & k0, low & ~k0


@triton.jit
def _planes_at(planes, words, word, CONTRACTIONS: tl.constexpr):
    """Slashes, and apostrophes of contractions of two and of three bytes."""
    two, three = plane_at(planes, words, word, 5), plane_at(planes, words, word, 6)
    slash = two & three
    if CONTRACTIONS:
        return slash, two ^ slash, three ^ slash
    return slash, slash & 0, slash & 0


@triton.jit
def _then(other_before, trailing_before, of_neither, of_other, of_trailing):
    """Where a function, applied after those that lead to IN_OTHER and to TRAILING, leads to one value."""
    return (
        (other_before & of_other) | (trailing_before & of_trailing) | (~(other_before | trailing_before) & of_neither)
    )


@triton.jit
def _after_those_before(a, b, c, d, e, f, DISTANCE: tl.constexpr):
    """Composes functions, given as where they lead to IN_OTHER and to TRAILING: from neither, IN_OTHER, TRAILING."""
    a_1, b_1, d_1, e_1 = a << DISTANCE, b << DISTANCE, d << DISTANCE, e << DISTANCE
    # Before the word's beginning comes the identity.
    c_1, f_1 = (c << DISTANCE) | ((1 << DISTANCE) - 1), (f << DISTANCE) | ((1 << DISTANCE) - 1)
    new_a, new_b = _then(a_1, b_1, a, c, e), _then(a_1, b_1, b, d, f)
    new_c, new_d = _then(c_1, d_1, a, c, e), _then(c_1, d_1, b, d, f)
    return new_a, new_b, new_c, new_d, _then(e_1, f_1, a, c, e), _then(e_1, f_1, b, d, f)


@triton.jit
def _in_other_and_trailing(other, mark, newline, slash, opens, lead, state):
    """Bytes after which the state is IN_OTHER, and TRAILING.

    opens: others that no character of a word follows, or that follow a space.
    """
    other, mark = other & lead, mark & lead
    a, b = other & opens, other & 0
    c, d = other | mark | ~lead, newline
    e, f = other & opens & ~slash, slash | newline | ~lead
    for power in tl.static_range(6):
        a, b, c, d, e, f = _after_those_before(a, b, c, d, e, f, 1 << power)
    was_other, was_trailing = ones_where(state == IN_OTHER), ones_where(state == TRAILING)
    return _then(was_other, was_trailing, a, c, e), _then(was_other, was_trailing, b, d, f)


@triton.jit
def _runs(planes, words, word, state, CONTRACTIONS: tl.constexpr):
    """IN_OTHER and TRAILING; characters of words; real contractions: their apostrophes, and their letters."""
    _, _, newline, _, ascii_space, not_word, _, lead = groups_at(planes, words, word)
    _, _, _, _, ascii_space_1, _, _, _ = groups_at(planes, words, word - 1)
    in_word, _, _, mark = letters_and_marks_at(planes, words, word)
    in_word_2, _, _, _ = letters_and_marks_at(planes, words, word + 1)
    lead_2 = plane_at(planes, words, word + 1, 4)
    slash, two, three = _planes_at(planes, words, word, CONTRACTIONS)
    _, two_1, three_1 = _planes_at(planes, words, word - 1, CONTRACTIONS)
    opens = from_before(ascii_space, ascii_space_1, 1) | ~of_next(in_word, in_word_2, lead, lead_2)
    in_other, trailing = _in_other_and_trailing(not_word & ~mark, mark, newline, slash, opens, lead, state)
    in_word &= ~(mark & ((in_other << 1) | bit_where(state == IN_OTHER)))
    # The state says whether a character that began before the word is part of one.
    low = ~lead & ~(~lead + 1)
    was_in_word = (state == UPPER_PART) | (state == LOWER_PART)
    in_word = (in_word & ~low) | (low & ones_where(was_in_word))
    real, inside = two & 0, two & 0
    if CONTRACTIONS:
        after_word = (in_word << 1) | bit_where(was_in_word)
        two, three = two & after_word, three & after_word
        pending = ones_where(state == SUFFIX)
        first = (two | three) & ~((two << 2) | (three << 3))
        # After the end of a contraction that began before the word, there cannot be another one of the same word.
        excluded = first & pending & ((two_1 >> 62) | (three_1 >> 61))
        real = every_second((first ^ excluded) | next_links(excluded, two, three), two, three)
        inside = (real << 1) | ((real & three) << 2) | (pending & (((two_1 | three_1) >> 63) | (three_1 >> 62)))
    return in_other, trailing, in_word, real, inside, three


@triton.jit
def _lower_part(stays, lower, state):
    return run_from(stays & (lower | bit_where(state == LOWER_PART)), stays)


@triton.jit
def o200k_starts(planes, words, word, state, newline_ahead, word_ahead, CONTRACTIONS: tl.constexpr):
    letter, number, newline, plain, ascii_space, not_word, separator, lead = groups_at(planes, words, word)
    _, _, newline_1, plain_1, ascii_space_1, not_word_1, _, _ = groups_at(planes, words, word - 1)
    _, _, newline_2, plain_2, _, _, separator_2, lead_2 = groups_at(planes, words, word + 1)
    all_of_words, upper, lower, mark = letters_and_marks_at(planes, words, word)
    all_of_words_1, upper_1, lower_1, mark_1 = letters_and_marks_at(planes, words, word - 1)
    slash, _, _ = _planes_at(planes, words, word, CONTRACTIONS)
    in_other, trailing, in_word, real, inside, _ = _runs(planes, words, word, state, CONTRACTIONS)
    other, other_1 = not_word & ~mark, not_word_1 & ~mark_1
    after_other = (in_other << 1) | bit_where(state == IN_OTHER)
    after_trailing = (trailing << 1) | bit_where(state == TRAILING)

    part = in_word & ~inside
    stays = part & ~upper
    lower_part = _lower_part(stays, lower, state)
    after_lower = (lower_part << 1) | bit_where(state == LOWER_PART)
    after_upper = ((part ^ lower_part) << 1) | bit_where(state == UPPER_PART)
    # Upper-case letters begin a new pre-token after letters of both cases if the word has no lower-case letter.
    goes_on = run_up_to(upper & (((all_of_words & ~upper) >> 1) | (word_ahead << 63)), upper)
    both, both_1 = all_of_words & ~(upper | lower), all_of_words_1 & ~(upper_1 | lower_1)
    gives_back = from_before(both, both_1, 1) & ~goes_on
    case = upper & (after_lower | (after_upper & gives_back))
    # An other character in neither a run nor a contraction is the optional first character of a word.
    prefix = other & ~(in_other | trailing | real)
    prefixed = (prefix << 1) | ((other_1 >> 63) & bit_where(state == 0))
    joins = after_lower | after_upper | prefixed | from_before(plain, plain_1, 1)
    starts = ((letter | (mark & ~after_other)) & ~joins) | case
    if CONTRACTIONS:
        starts |= digit_groups(number, lead, tl.maximum(state - (ONE_DIGIT - 1), 0))
    else:
        starts |= number
    starts |= other & ~(after_other | (after_trailing & slash) | from_before(ascii_space, ascii_space_1, 1) | real)
    absorbed = newline & (after_other | after_trailing)
    last = ~of_next(newline | plain | separator, newline_2 | plain_2 | separator_2, lead, lead_2)
    starts |= white_space(newline, plain, newline_1, plain_1, absorbed, after_trailing, newline_ahead, last)
    return starts & ~inside & lead


@triton.jit
def o200k_after(planes, words, word, state, CONTRACTIONS: tl.constexpr):
    """The state of `machines.O200k` after each word, except for digits."""
    in_other, trailing, in_word, real, inside, three = _runs(planes, words, word, state, CONTRACTIONS)
    _, upper, lower, _ = letters_and_marks_at(planes, words, word)
    part = in_word & ~inside
    lower_part = _lower_part(part & ~upper, lower, state)
    # One letter of two is left; U+017F is one letter of two bytes.
    single = plane_at(planes, words, word + 1, 4) & 1
    suffix = (real >> 63) | ((real & three) >> 62 & single)
    after = (in_other >> 63) * IN_OTHER + (trailing >> 63) * TRAILING + (part >> 63) * UPPER_PART
    return (after + (lower_part >> 63) * (LOWER_PART - UPPER_PART) + suffix * SUFFIX).to(tl.int32)
