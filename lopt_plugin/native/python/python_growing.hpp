// The Python interface to seams, counts, longest prefixes and intervals (growing.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "compiled/read_core.hpp"
#include "growing/final_place.hpp"
#include "growing/growing.hpp"
#include "growing/kept_parts.hpp"
#include "growing/longest_prefix.hpp"
#include "growing/unigram_part.hpp"
#include "python/final_ids.hpp"
#include "python/python_core.hpp"
#include "python/python_values.hpp"

namespace lopt {

// A Python text and the counts of its parts. Core: the native core, which must outlive this object.
template <class Core>
class PythonIntervals {
  public:
    PythonIntervals(const Core& core, nb::str text, bool split_special) : core_(core), text_(std::move(text)), intervals_(made(core, text_, split_special)) {}

    size_t count(size_t begin, size_t end) const {
        const Characters characters = characters_of(text_);
        if (begin > end || end > characters.length) throw nb::index_error("intervals: 0 <= start <= end <= length of the text expected");
        typename Core::Borrowed space(core_);
        return intervals_.count(characters, begin, end, *space);
    }

  private:
    static Intervals<Core> made(const Core& core, nb::handle text, bool split_special) {
        const Characters characters = characters_of(text);
        const InterpreterUnlocked unlocked;
        typename Core::Borrowed space(core);
        return {core, characters, split_special, *space};
    }

    const Core& core_;
    nb::str text_;
    Intervals<Core> intervals_;
};

// The ids of a text of Unigram without a seam, to which text is appended.
template <class Core>
class PythonWords {
  public:
    // inside, split_special: see EncodeOptions.
    PythonWords(const Core& core, uint32_t largest_id, bool inside, bool split_special) : largest_id_(largest_id), part_(core, inside, split_special) {}

    // Returns false if its ids cannot be found like this any more; the object must not be used after that.
    bool append(nb::str text) {
        const Characters characters = characters_of(text);
        if (characters.length < LONG_WORD) return part_.append(characters);
        const InterpreterUnlocked unlocked;
        return part_.append(characters);
    }
    size_t count() const { return part_.count(); }
    nb::object ids() const {
        IdBuffer ids;
        part_.ids(ids);
        return id_list(largest_id_, ids.data(), ids.size());
    }

  private:
    const uint32_t largest_id_;
    UnigramPart<Core> part_;
};

template <class Core>
class PythonGrowing : public PythonCore<Core> {
  public:
    using PythonCore<Core>::PythonCore;

    nb::object encode_part(nb::str text, size_t begin, std::optional<size_t> end, bool inside, bool split_special, size_t threads) const {
        return with_part(text, begin, end, inside, {threads, 0, split_special},
                         [&](const IdBuffer& ids) { return id_list(this->largest_id(), ids.data(), ids.size()); });
    }
    FinalIds* settled_ids(const FinalIds* first, size_t count) const {
        // Python owns it.
        return first ? new FinalIds(checked(*first), count) : new FinalIds(this, this->largest_id());
    }
    void settle_part(FinalIds& settled, nb::str text, size_t begin, std::optional<size_t> end, bool inside, bool split_special,
                     size_t threads) const {
        checked(settled);
        with_part(text, begin, end, inside, {threads, 0, split_special},
                  [&](const IdBuffer& ids) { settled.append(ids.data(), ids.size()); });
    }
    std::optional<size_t> last_seam(nb::str text, size_t begin, std::optional<size_t> end) const {
        const Characters characters = characters_of(text), part = checked_part(text, begin, end);
        size_t seam = 0;
        this->unlock_if_long(part.length, [&] { seam = this->core().boundaries().last_seam(characters, begin, begin + part.length); });
        return seam ? std::optional(seam) : std::nullopt;
    }
    std::optional<size_t> first_seam(nb::str text, size_t begin, std::optional<size_t> end) const {
        const Characters characters = characters_of(text), part = checked_part(text, begin, end);
        const size_t stop = begin + part.length;
        size_t seam = stop;
        this->unlock_if_long(part.length, [&] { seam = this->core().boundaries().first_seam(characters, std::max<size_t>(begin, 1), stop); });
        return seam < stop ? std::optional(seam) : std::nullopt;
    }

    std::optional<std::tuple<size_t, bool, nb::object, bool, std::string>> settle_beginning(FinalIds& settled, nb::str text, bool inside, bool split_special) const {
        checked(settled);
        const Characters characters = characters_of(text);
        typename Core::Borrowed space(this->core());
        const OpenRow<Core> row(this->core(), characters);
        std::optional<Place> place;
        this->unlock_if_long(characters.length, [&] { place = last_final_place(this->core(), characters, row, inside, split_special, *space); });
        if (!place) return std::nullopt;
        if (place->count > space->ids.size()) throw std::logic_error("settle_beginning: a place after more ids than the text has");
        const uint32_t *const ids = space->ids.data(), *const rest = ids + place->count;
        nb::object left = id_list(this->largest_id(), rest, space->ids.size() - place->count);
        settled.append(ids, place->count);
        return std::tuple(place->at, place->inside, std::move(left), !row.is_open(), std::move(place->marks));
    }
    // Whether what was settled before an open row, of which `text` has the end, is final now; nothing while the row is open.
    std::optional<bool> ends_row(nb::str text, nb::str more) const {
        const RowAfter after = OpenRow<Core>(this->core(), characters_of(text)).after(characters_of(more));
        return after == RowAfter::open ? std::nullopt : std::optional(after == RowAfter::final);
    }

    std::vector<std::pair<size_t, size_t>> kept_parts(nb::str text) const {
        return lopt::kept_parts(this->core(), characters_of(text));
    }

    size_t count(nb::str text, size_t threads, bool split_special) const {
        const Characters characters = characters_of(text);
        size_t count = 0;
        this->unlock_if_long(characters.length, [&] { count = count_all(characters, threads, split_special); });
        return count;
    }
    std::vector<size_t> count_batch(nb::list texts, size_t threads, bool split_special) const {
        const nb::tuple alive(texts);
        const std::vector<Characters> rows = this->characters_of_all(alive, "count_batch: a text is not a str");
        std::vector<Range> ranges;
        for (size_t row = 0; row < rows.size(); row++) add_ranges(rows[row], row, threads, ranges);
        const InterpreterUnlocked unlocked;
        return count_ranges(rows, ranges, threads, split_special);
    }
    std::optional<size_t> count_until(nb::str text, size_t limit, bool split_special) const {
        const Characters characters = characters_of(text);
        typename Core::Borrowed space(this->core());
        size_t count = 0;
        this->unlock_if_long(characters.length, [&] {
            count = count_ids(this->core(), characters, 0, characters.length, false, split_special, limit, *space);
        });
        return count <= limit ? std::optional(count) : std::nullopt;
    }
    std::optional<size_t> cut(nb::str text, size_t most, bool split_special, size_t long_word) const {
        const Characters characters = characters_of(text);
        typename Core::Borrowed space(this->core());
        size_t length = 0;
        try {
            this->unlock_if_long(characters.length, [&] { length = lopt::longest_prefix(this->core(), characters, most, split_special, *space, long_word); });
        } catch (const TooManyPrefixesError&) {
            return std::nullopt;
        }
        return length;
    }
    nb::object encode_first(nb::str text, size_t most, size_t threads, bool split_special) const {
        const Characters characters = characters_of(text);
        typename Core::Borrowed space(this->core());
        IdBuffer ids;
        this->unlock_if_long(characters.length, [&] {
            first_ids(this->core(), characters, most, {threads, 0, split_special}, *space, ids);
            if (holds_surrogate(characters)) throw LoneSurrogateError();
        });
        return id_list(this->largest_id(), ids.data(), ids.size());
    }
    PythonIntervals<Core>* intervals(nb::str text, bool split_special) const {
        return new PythonIntervals<Core>(this->core(), std::move(text), split_special);  // Python owns it
    }

    nb::object growing_words(nb::str text, bool inside, bool split_special) const {
        if constexpr (HasLattice<Core>) {
            auto word = std::make_unique<PythonWords<Core>>(this->core(), this->largest_id(), inside, split_special);
            if (characters_of(text).length >= LONG_WORD && word->append(std::move(text))) return nb::cast(word.release(), nb::rv_policy::take_ownership);
        }
        return nb::none();
    }

    // `read`: builds a core from the values that describe it; see read_core.hpp.
    template <class Class>
    static void define(Class& type, nb::module_& module, BuiltCore<Core> (*read)(PythonValues&), const char* intervals_name) {
        using Self = typename Class::Type;
        const auto create = [read](Self* self, nb::list values) {
            PythonValues in(std::move(values));
            BuiltCore<Core> built = read(in);
            new (self) Self(std::move(built.core), built.largest_id);
        };
        type.def("__init__", create, nb::arg("values"));
        PythonCore<Core>::define(type);
        if constexpr (HasLattice<Core>) {
            nb::class_<PythonWords<Core>>(module, "GrowingWords")
                .def("append", &PythonWords<Core>::append, nb::arg("text"))
                .def("count", &PythonWords<Core>::count)
                .def("ids", &PythonWords<Core>::ids);
        }
        nb::class_<PythonIntervals<Core>>(module, intervals_name)
            .def("count", &PythonIntervals<Core>::count, nb::arg("start"), nb::arg("end"));
        using namespace argument;
        const auto begin = nb::arg("begin") = 0;
        const auto end = nb::arg("end") = nb::none();
        const auto inside = nb::arg("inside") = false;
        type.def("encode_part", &PythonGrowing::encode_part, text, begin, end, inside, split_special(), threads())
            .def("settled_ids", &PythonGrowing::settled_ids, nb::arg("first") = nb::none(), nb::arg("count") = 0,
                 nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
            .def("settle_part", &PythonGrowing::settle_part, nb::arg("settled"), text, begin, end, inside, split_special(), threads())
            .def("last_seam", &PythonGrowing::last_seam, text, begin, end)
            .def("first_seam", &PythonGrowing::first_seam, text, begin, end)
            .def("settle_beginning", &PythonGrowing::settle_beginning, nb::arg("settled"), text, nb::arg("inside"), nb::arg("split_special_tokens"))
            .def("ends_row", &PythonGrowing::ends_row, text, nb::arg("more"))
            .def("kept_parts", &PythonGrowing::kept_parts, text)
            .def("count", &PythonGrowing::count, text, threads(), split_special())
            .def("count_batch", &PythonGrowing::count_batch, texts, threads(), split_special())
            .def("count_until", &PythonGrowing::count_until, text, nb::arg("limit"), split_special())
            .def("cut", &PythonGrowing::cut, text, nb::arg("most"), split_special(), nb::arg("long_word") = LONG_WORD)
            .def("encode_first", &PythonGrowing::encode_first, text, nb::arg("most"), threads(), split_special())
            .def("growing_words", &PythonGrowing::growing_words, text, inside, split_special(), nb::keep_alive<0, 1>())
            .def("intervals", &PythonGrowing::intervals, text, split_special(), nb::rv_policy::take_ownership,
                 nb::keep_alive<0, 1>());
    }

  private:
    static constexpr size_t RANGE = size_t{1} << 17;  // characters that one thread counts at a time

    // Characters [begin, end) of one of several texts, between seams.
    struct Range {
        size_t row, begin, end;
    };

    static Characters checked_part(nb::handle text, size_t begin, std::optional<size_t> end) {
        const Characters characters = characters_of(text);
        const size_t stop = end.value_or(characters.length);
        if (begin > stop || stop > characters.length) throw nb::index_error("a part of a text: 0 <= begin <= end <= length of the text expected");
        return characters.part(begin, stop);
    }
    const FinalIds& checked(const FinalIds& settled) const {
        if (!settled.are_of(this)) throw nb::value_error("settled ids of another core");
        return settled;
    }
    // Returns use(ids), called for a part of a text while holding the interpreter lock.
    template <class Use>
    auto with_part(nb::handle text, size_t begin, std::optional<size_t> end, bool inside, EncodeOptions options, Use&& use) const {
        const Characters part = checked_part(text, begin, end);
        typename Core::Borrowed space(this->core());
        options.inside = inside;
        this->unlock_if_long(part.length, [&] { this->core().encode(part, options, *space); });
        return use(space->ids);
    }
    static bool holds_surrogate(const Characters& text) {
        if (text.unit_bytes == 1) return false;
        return visit_units(text, [&text](const auto* units) {
            bool any = false;  // no early exit, so that the loop can be vectorized
            for (size_t i = 0; i < text.length; i++) any |= is_surrogate(units[i]);
            return any;
        });
    }

    size_t count_all(const Characters& text, size_t threads, bool split_special) const {
        if (threads < 2 || text.length <= RANGE) {
            typename Core::Borrowed space(this->core());
            return count_ids(this->core(), text, 0, text.length, false, split_special, SIZE_MAX, *space);
        }
        std::vector<Range> ranges;
        add_ranges(text, 0, threads, ranges);
        return count_ranges({text}, ranges, threads, split_special)[0];
    }
    void add_ranges(const Characters& text, size_t row, size_t threads, std::vector<Range>& ranges) const {
        Parts parts(this->core().boundaries(), text, 0, text.length, false);
        while (!parts.done()) {
            const auto part = parts.next(threads > 1 ? RANGE : text.length);
            ranges.push_back({row, part.begin, part.end});
        }
    }
    std::vector<size_t> count_ranges(const std::vector<Characters>& rows, const std::vector<Range>& ranges, size_t threads, bool split_special) const {
        std::vector<size_t> counts(ranges.size(), 0), totals(rows.size(), 0);
        const auto count_range = [&](size_t i) {
            typename Core::Borrowed space(this->core());
            const Range& range = ranges[i];
            counts[i] = count_ids(this->core(), rows[range.row], range.begin, range.end, range.begin > 0, split_special, SIZE_MAX, *space);
        };
        this->core().pool().run(ranges.size(), threads, count_range, [&](size_t i) { totals[ranges[i].row] += counts[i]; });
        return totals;
    }
};

}  // namespace lopt
