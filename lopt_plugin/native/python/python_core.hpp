// The Python interface that all cores share: texts in, lists and arrays of ids out.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel_for.hpp"
#include "python/batch_arrays.hpp"
#include "python/id_list.hpp"
#include "python/offset_objects.hpp"
#include "python/prefetched_texts.hpp"
#include "python/python_arguments.hpp"
#include "python/short_encoder.hpp"
#include "python/texts_to_pack.hpp"

namespace lopt {

// Arguments that many methods have.
namespace argument {
inline const nb::arg text("text"), texts("texts");
inline auto threads() { return nb::arg("threads") = 1; }
inline auto chunk_chars() { return nb::arg("chunk_chars") = 0; }
inline auto split_special() { return nb::arg("split_special_tokens") = false; }
}  // namespace argument

template <class Core>
class PythonCore {
  public:
    PythonCore(std::unique_ptr<Core> core, uint32_t largest_id) : core_(std::move(core)), largest_id_(largest_id) {}
    PythonCore(const PythonCore&) = delete;
    PythonCore& operator=(const PythonCore&) = delete;

    nb::object encode(nb::str text, size_t threads, size_t chunk_chars, bool split_special, int64_t first_id) const {
        const EncodeOptions options{threads, chunk_chars, split_special, false, true};
        const std::optional<uint32_t> first = checked_first_id(first_id);
        IdList list(largest_id_);
        typename Core::Borrowed space(*core_);
        bool begun = false;
        const auto append = [&](const uint32_t* ids, size_t count, size_t following) {
            if (!std::exchange(begun, true)) {
                const KnownBeginning& known = space->known;
                // A list that grows touches its memory twice. Room that is not used costs none.
                list.reserve(first.has_value() + known.ids + count + following + following / 8);
                if (first) list.append(&*first, 1);
                if (known.ids) list.append(known.held->text.ids.data(), known.ids);
            }
            list.append(ids, count);
        };
        if (options.threads < 2 && nb::len(text) < Core::LEAST_DIVIDED) {
            run_and_hold(text, options, *space);
        } else {
            // Fills the list while the ids are in the processor's caches, and while other threads are still encoding.
            run_and_hold(text, options, *space, [&](const uint32_t* ids, size_t count, size_t following) {
                if (begun && list.takes_unlocked(count)) return list.append(ids, count);
                const InterpreterLocked locked;
                append(ids, count, following);
            });
        }
        if (!begun) append(space->ids.data(), space->ids.size(), 0);
        return nb::steal(list.finish());
    }
    // See ShortEncoder.
    ShortEncoder* short_encoder(size_t most_characters, size_t most_together, std::optional<IdsAround> around) const {
        if (around)
            for (const auto& ids : {around->first, around->second})
                for (const uint32_t id : ids) checked_first_id(id);
        const auto encode = [](const void* core, nb::handle text, const IdsAround& more) {
            return static_cast<const PythonCore*>(core)->encode_short(text, more);
        };
        return new ShortEncoder(this, encode, most_characters, most_together, std::move(around));
    }
    nb::object encode_array(nb::str text, size_t threads, size_t chunk_chars, bool split_special) const {
        typename Core::Borrowed space(*core_);
        run_and_hold(text, {threads, chunk_chars, split_special, false, true}, *space);
        const KnownBeginning& known = space->known;
        return nb::cast(written_array(known.ids + space->ids.size(), [&](int32_t* data) {
            if (known.ids) std::memcpy(data, known.held->text.ids.data(), known.ids * sizeof(int32_t));
            if (space->ids.size()) std::memcpy(data + known.ids, space->ids.data(), space->ids.size() * sizeof(int32_t));
        }));
    }
    nb::tuple encode_batch(nb::list texts, size_t threads, bool split_special) const {
        std::vector<EncodedRows> parts;
        const size_t rows = encode_rows(texts, threads, split_special, [&parts](EncodedRows& part) { parts.push_back(std::move(part)); });
        auto offsets = allocated<int64_t>(rows + 1);
        size_t before = 0, row = 0;
        offsets[0] = 0;
        for (const EncodedRows& part : parts) {
            for (const size_t end : part.ends) offsets[++row] = static_cast<int64_t>(before + end);
            before += part.ids.size();
        }
        auto ids = written_array(before, [&parts](int32_t* out) {
            for (const EncodedRows& part : parts) {
                if (part.ids.size()) std::memcpy(out, part.ids.data(), part.ids.size() * sizeof(int32_t));
                out += part.ids.size();
            }
        });
        return nb::make_tuple(std::move(ids), array_over<int64_t, 1>(std::move(offsets), {rows + 1}));
    }
    nb::list encode_batch_lists(nb::list texts, size_t threads, bool split_special) const {
        nb::list rows;
        // Creates lists while other threads are still encoding.
        encode_rows(texts, threads, split_special, [&](const EncodedRows& part) {
            const InterpreterLocked locked;
            size_t begin = 0;
            for (const size_t end : part.ends) {
                rows.append(id_list(largest_id_, part.ids.data() + begin, end - begin));
                begin = end;
            }
        });
        return rows;
    }
    PrefetchedTexts* encode_ahead(nb::list texts, size_t workers, bool split_special) const {
        nb::tuple alive(texts);
        std::vector<Row> rows = rows_of(alive, "encode_ahead: a text is not a str");
        return new PrefetchedTexts(core_->pool(), workers, largest_id_, std::move(alive), [this, split_special, rows = std::move(rows)](size_t i, IdBuffer& ids) {
            typename Core::Borrowed space(*core_);
            encode_row(rows[i], split_special, *space, ids);
        });
    }
    // The lists of integers for rows of ids that came from elsewhere.
    nb::list lists_of(const Ids& ids, const RowOffsets& row_offsets) const {
        const auto* const data = reinterpret_cast<const uint32_t*>(ids.data());
        const std::vector<int64_t> offsets = row_offsets_of(ids, row_offsets, "lists_of");
        nb::list rows;
        for (size_t row = 0; row + 1 < offsets.size(); row++) {
            const uint32_t *const begin = data + offsets[row], *const end = data + offsets[row + 1];
            // Checked row by row: making a list may run the collector, and with it code that changes the array.
            if (begin != end && *std::max_element(begin, end) > largest_id_) throw nb::value_error("lists_of: not an id of this core");
            rows.append(id_list(largest_id_, begin, static_cast<size_t>(end - begin)));
        }
        return rows;
    }
    // Rows with what the post-processor adds, truncated and padded; see _core.pyi.
    nb::tuple finished_rows(const Ids& ids, const RowOffsets& row_offsets, const std::optional<TextOffsets>& offsets, const std::vector<bool>& pairs,
                            const std::vector<RowLayout>& layouts, const Truncation& truncation, const RowPadding& padding, bool as_lists) const {
        const std::vector<int64_t> text_begins = row_offsets_of(ids, row_offsets, "finished_rows");
        if (offsets && offsets->shape(0) != ids.shape(0)) throw nb::value_error("finished_rows: not as many offsets as ids");
        const std::vector<PlannedRow> rows = planned_rows(text_begins, pairs, layouts, truncation);
        RowColumns columns = written_rows(rows, ids, text_begins, offsets, padding);
        const std::vector<size_t>& begins = columns.begins;
        as_lists |= rows.empty();
        auto places = allocated<int64_t>(6 * rows.size());
        for (size_t i = 0; i < rows.size(); i++) {
            const size_t length = begins[i + 1] - begins[i];
            as_lists |= length == 0 || length != begins[1];
            const auto& [first, second] = rows[i].ranges;
            const std::array place{rows[i].sample, length - rows[i].length(), first.begin, first.end, second.begin, second.end};
            std::copy(place.begin(), place.end(), places.get() + 6 * i);
        }
        nb::list made;
        for (auto& values : columns.numbers) {
            if (!as_lists) made.append(array_over<int64_t, 2>(std::move(values), {rows.size(), begins[1]}));
            else made.append(lists_of_rows(begins, [&](size_t begin, size_t count) { return number_list(values.get() + begin, count); }));
        }
        if (!offsets) made.append(nb::none());
        else if (!as_lists) made.append(array_over<int32_t, 3>(std::move(columns.offsets), {rows.size(), begins[1], 2}));
        else made.append(lists_of_rows(begins, [&](size_t begin, size_t count) { return offset_objects_.list(columns.offsets.get() + begin, count); }));
        made.append(array_over<int64_t, 2>(std::move(places), {rows.size(), 6}));
        return nb::tuple(made);
    }
    // See TextsToPack.
    TextsToPack* texts_to_pack(nb::list texts, size_t threads, size_t part_characters) const {
        nb::tuple alive(texts);
        const std::vector<Characters> rows = characters_of_all(alive, "texts_to_pack: a text is not a str");
        std::unique_ptr<const Packing> packing;
        std::vector<uint8_t> may_change(rows.size(), 0);
        {
            const InterpreterUnlocked unlocked;
            const auto& method = core_->method();
            packing = std::make_unique<const Packing>(rows, core_->pool(), threads, part_characters, method.page_marks(), [&](uint32_t c) {
                if constexpr (requires { method.leaves(c); }) return !method.leaves(c);
                else return true;
            });
            const auto doubtful = packing->marked_parts(method.normalizes_ascii());
            std::vector<uint8_t> changes(doubtful.size());
            core_->pool().run(doubtful.size(), threads, [&](size_t i) { changes[i] = !surely_kept(doubtful[i].characters); });
            for (size_t i = 0; i < doubtful.size(); i++) may_change[doubtful[i].text] |= changes[i];
        }
        return new TextsToPack(std::move(alive), std::move(packing), std::move(may_change), {
            core_->segmenter().longest_token(),
            [this](const uint8_t* begin, const uint8_t* end) { return core_->segmenter().any_added_token_in(begin, end); },
            [this](const uint8_t* begin, const uint8_t* end, bool split_special, Buffer<Segment>& segments) {
                core_->segmenter().find_added_tokens(begin, end, split_special, segments);
            }});
    }
    // Ids and offsets, truncated to `limit` ids. first_id: -1, or an id; the lists then begin with this id and (0, 0).
    nb::tuple encode_with_offsets(nb::str text, size_t threads, size_t chunk_chars, bool split_special, bool trim_spaces, bool spare_first,
                                  std::optional<size_t> limit, bool keep_end, bool as_lists, int64_t first_id) const {
        const std::optional<uint32_t> of_no_text = checked_first_id(first_id);
        typename Core::Borrowed space(*core_);
        Allocated<Offset> offsets;
        size_t first = 0, kept = 0;
        const Characters characters = characters_of(text);
        unlock_if_long(characters.length, [&] {
            core_->encode(characters, {threads, chunk_chars, split_special, true}, *space);
            const size_t count = space->ids.size();
            kept = std::min(limit.value_or(count), count);
            first = keep_end ? count - kept : 0;
            offsets = allocated<Offset>(first + kept);
            core_->offsets(*space, threads, first + kept, {trim_spaces, spare_first, first}, offsets.get());
        });
        const uint32_t* const ids = space->ids.data() + first;
        if (!as_lists) return nb::make_tuple(array_of(ids, kept), array_over<int32_t, 2>(std::move(offsets), {kept, 2}, first));
        const size_t leading = of_no_text.has_value();
        IdList list(largest_id_);
        list.reserve(leading + kept);
        if (of_no_text) list.append(&*of_no_text, 1);
        list.append(ids, kept);
        nb::object ids_list = nb::steal(list.finish());
        return nb::make_tuple(std::move(ids_list), nb::steal(offset_objects_.list(offsets.get() + first, kept, leading)));
    }
    // The ids of each word on its own, the number of ids per word, and the offsets within each word.
    nb::tuple encode_words(nb::list words, bool split_special, bool with_offsets, bool trim_spaces, bool spare_first) const {
        const nb::tuple alive(words);
        const std::vector<Characters> texts = characters_of_all(alive, "encode_words: a word is not a str");
        size_t characters = 0;
        for (const Characters& text : texts) characters += text.length;
        IdBuffer ids;
        std::vector<uint32_t> counts;
        std::vector<Offset> places;
        const auto encode_all = [&] {
            typename Core::Borrowed space(*core_);
            for (const Characters& text : texts) {
                core_->encode(text, {1, 0, split_special, with_offsets}, *space);
                const size_t count = space->ids.size(), before = places.size();
                if (with_offsets) {
                    places.resize(before + count);
                    core_->offsets(*space, 1, count, {trim_spaces, spare_first, ids.size() ? count : 0}, places.data() + before);
                }
                ids.append(space->ids.data(), count);
                counts.push_back(static_cast<uint32_t>(count));
            }
        };
        unlock_if_long(characters, encode_all);
        auto offsets = allocated<Offset>(places.size());
        std::copy(places.begin(), places.end(), offsets.get());
        const nb::object array = with_offsets ? nb::cast(array_over<int32_t, 2>(std::move(offsets), {places.size(), 2})) : nb::none();
        return nb::make_tuple(array_of(ids.data(), ids.size()), array_of(counts.data(), counts.size()), array);
    }
    size_t id_count() const { return size_t{largest_id_} + 1; }
    size_t default_chunk_chars(size_t text_chars, size_t threads) const { return Core::default_chunk(text_chars, threads); }
    // See Core; must be called before anything is encoded.
    void remember_prefixes(size_t limit_bytes, size_t block_characters, int hash_bits, size_t least_characters, std::optional<uint64_t> secret) {
        core_->prefix_cache().turn_on(limit_bytes, block_characters, hash_bits, least_characters, secret);
    }
    void trust_seams() { core_->trust_seams(); }
    // Counters of the prefix cache, by name; empty if it is off.
    nb::dict prefix_counters() const {
        nb::dict result;
        if (!held_texts()) return result;
        const HeldTexts::Counters counters = held_texts()->counters();
        for (const auto& [name, counter] : COUNTERS) result[name] = counters.*counter;
        return result;
    }
    // By how much the cumulative counters have grown since the last call, by name; empty if no text was looked up.
    nb::dict new_prefix_counts() {
        nb::dict result;
        if (!held_texts()) return result;
        const HeldTexts::Counters now = held_texts()->counters();
        if (now.lookups == reported_.lookups) return result;
        for (size_t i = 0; i < GROWING_COUNTERS; i++) result[COUNTERS[i].first] = now.*COUNTERS[i].second - reported_.*COUNTERS[i].second;
        reported_ = now;
        return result;
    }
    nb::dict info() const {
        nb::dict result;
        result["table_bytes"] = core_->bytes();
        result["idle_workspace_bytes"] = core_->idle_bytes();
        result["offset_object_bytes"] = offset_objects_.bytes();
        if constexpr (requires { core_->method().model().matcher(); }) result["matcher_usable"] = core_->method().model().matcher().usable();
        return result;
    }

    // Adds these methods to a Python class.
    template <class Class>
    static void define(Class& type) {
        using namespace argument;
        const auto spare_first = nb::arg("spare_first") = false, trim_spaces = nb::arg("trim_spaces") = false;
        const auto first_id = nb::arg("first_id") = -1;
        type.def("encode", &PythonCore::encode, text, threads(), chunk_chars(), split_special(), first_id)
            .def("short_encoder", &PythonCore::short_encoder, nb::arg("most_characters"), nb::arg("most_together"),
                 nb::arg("around").none(), nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
            .def("encode_array", &PythonCore::encode_array, text, threads(), chunk_chars(), split_special())
            .def("encode_batch", &PythonCore::encode_batch, texts, threads(), split_special())
            .def("encode_batch_lists", &PythonCore::encode_batch_lists, texts, threads(), split_special())
            .def("encode_ahead", &PythonCore::encode_ahead, texts, nb::arg("workers"), split_special(),
                 nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
            .def("lists_of", &PythonCore::lists_of, nb::arg("ids").noconvert(), nb::arg("row_offsets").noconvert())
            .def("finished_rows", &PythonCore::finished_rows, nb::arg("ids"), nb::arg("row_offsets"), nb::arg("offsets").none(), nb::arg("pairs"),
                 nb::arg("layouts"), nb::arg("truncation"), nb::arg("padding"), nb::arg("as_lists"))
            .def("texts_to_pack", &PythonCore::texts_to_pack, texts, threads(), nb::arg("part_characters") = Packing::PART_CHARACTERS,
                 nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
            .def("encode_with_offsets", &PythonCore::encode_with_offsets, text, threads(), chunk_chars(), split_special(), trim_spaces,
                 spare_first, nb::arg("limit") = nb::none(), nb::arg("keep_end") = false, nb::arg("as_lists") = false, first_id)
            .def("encode_words", &PythonCore::encode_words, nb::arg("words"), split_special(), nb::arg("with_offsets") = false, trim_spaces, spare_first)
            .def("default_chunk_chars", &PythonCore::default_chunk_chars, nb::arg("text_chars"), nb::arg("threads"))
            .def("remember_prefixes", &PythonCore::remember_prefixes, nb::arg("limit_bytes"), nb::arg("block_characters") = 1024,
                 nb::arg("hash_bits") = 64, nb::arg("least_characters") = 0, nb::arg("secret") = nb::none())
            .def("trust_seams", &PythonCore::trust_seams)
            .def("prefix_counters", &PythonCore::prefix_counters)
            .def("id_count", &PythonCore::id_count)
            .def("info", &PythonCore::info)
            .def("new_prefix_counts", &PythonCore::new_prefix_counts);
    }

  protected:
    const Core& core() const { return *core_; }
    uint32_t largest_id() const { return largest_id_; }
    // Calls work(), without the interpreter lock if it is about many characters.
    template <class Work>
    static void unlock_if_long(size_t characters, Work&& work) {
        if (characters < GIL_FREE_FROM) return work();
        const InterpreterUnlocked unlocked;
        work();
    }
    // Whether the normalizer certainly leaves a text as it is.
    bool surely_kept(const Characters& text) const {
        if constexpr (requires { core_->method().normalizer(); }) {
            Buffer<uint8_t> bytes;
            bool marked = false;
            const Text utf8 = to_utf8(text, core_->method().page_marks(), bytes, marked);
            return core_->method().normalizer().surely_keeps(utf8.begin, utf8.end);
        }
        return false;
    }
    // The strings must outlive the result, even if another thread empties the list that they came from, so a tuple keeps
    // them alive.
    static std::vector<Characters> characters_of_all(const nb::tuple& texts, const char* message) {
        std::vector<Characters> all;
        all.reserve(texts.size());
        for (nb::handle text : texts) {
            if (!PyUnicode_Check(text.ptr())) throw nb::type_error(message);
            all.push_back(characters_of(text));
        }
        return all;
    }

  private:
    nb::object encode_short(nb::handle text, const IdsAround& around) const {
        typename Core::Borrowed space(*core_);
        const Characters characters = characters_of(text);
        unlock_if_long(characters.length, [&] { core_->encode(characters, {}, *space); });
        IdList list(largest_id_);
        list.reserve(around.first.size() + space->ids.size() + around.second.size());
        list.append(around.first.data(), around.first.size());
        list.append(space->ids.data(), space->ids.size());
        list.append(around.second.data(), around.second.size());
        return nb::steal(list.finish());
    }
    std::optional<uint32_t> checked_first_id(int64_t first_id) const {
        if (first_id >= static_cast<int64_t>(id_count())) throw nb::value_error("first_id: not an id of this core");
        return first_id < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(first_id));
    }
    // What make(begin, count), a new reference, is for each row.
    template <class Make>
    static nb::list lists_of_rows(const std::vector<size_t>& begins, Make&& make) {
        nb::list rows;
        for (size_t row = 0; row + 1 < begins.size(); row++) rows.append(nb::steal(make(begins[row], begins[row + 1] - begins[row])));
        return rows;
    }
    // A new list of any numbers, most of which are at most the largest id.
    PyObject* number_list(const int64_t* numbers, size_t count) const {
        const bool shared = SharedIntegers::make(id_count());
        ListBuilder items;
        items.reserve(count);
        for (const int64_t number : std::span(numbers, count)) {
            const bool is_shared = shared && number >= 0 && number <= largest_id_;
            PyObject* const object = is_shared ? SharedIntegers::at(static_cast<size_t>(number)) : PyLong_FromLongLong(number);
            if (!object) cpython::throw_no_memory();
            items.push(object);
        }
        return items.finish();
    }
    static constexpr size_t GIL_FREE_FROM = 2048;  // characters; for shorter texts, releasing the lock costs more than it gains

    // The cumulative counters come first.
    static constexpr std::pair<const char*, uint64_t HeldTexts::Counters::*> COUNTERS[] = {
        {"lookups", &HeldTexts::Counters::lookups},         {"hits", &HeldTexts::Counters::hits},
        {"bytes_saved", &HeldTexts::Counters::bytes_saved}, {"evictions", &HeldTexts::Counters::evictions},
        {"texts", &HeldTexts::Counters::texts},             {"bytes", &HeldTexts::Counters::bytes},
        {"limit_bytes", &HeldTexts::Counters::limit_bytes}};
    static constexpr size_t GROWING_COUNTERS = 4;

    struct Row {
        Characters characters;
        std::shared_ptr<void> owner;
    };

    HeldTexts* held_texts() const { return core_->prefix_cache().texts(); }
    // Releases the texts that are no longer held, which needs the interpreter lock.
    void release_removed() const {
        if (held_texts()) held_texts()->release_removed();
    }
    // The object that keeps a text's characters alive; null if the text must not be held. Instances of str subclasses are
    // not held, because deleting them could run code.
    std::shared_ptr<void> owner_of(nb::handle text, const Characters& characters) const {
        if (!PyUnicode_CheckExact(text.ptr()) || !core_->prefix_cache().applies(characters)) return {};
        return {Py_NewRef(text.ptr()), [](PyObject* string) { Py_DECREF(string); }};
    }
    std::vector<Row> rows_of(const nb::tuple& texts, const char* message) const {
        release_removed();
        std::vector<Row> rows;
        rows.reserve(texts.size());
        for (const Characters& characters : characters_of_all(texts, message)) rows.push_back({characters, owner_of(texts[rows.size()], characters)});
        return rows;
    }
    void run_and_hold(nb::handle text, const EncodeOptions& options, typename Core::Workspace& space, const typename Core::Sink& sink = {}) const {
        const Characters characters = characters_of(text);
        const std::shared_ptr<void> owner = owner_of(text, characters);
        unlock_if_long(characters.length, [&] { core_->encode(characters, options, space, sink, owner); });
        if (owner) release_removed();
    }
    // Rows that one thread encodes together: their ids, and the end of each row's ids.
    struct EncodedRows {
        IdBuffer ids;
        std::vector<size_t> ends;
    };
    // Calls take(part) for all rows in order, on this thread, possibly without the interpreter lock. Returns the number
    // of rows.
    template <class Take>
    size_t encode_rows(nb::list texts, size_t threads, bool split_special, Take&& take) const {
        const nb::tuple alive(texts);
        const std::vector<Row> rows = rows_of(alive, "encode_batch: a text is not a str");
        size_t characters = 0;
        for (const Row& row : rows) characters += row.characters.length;
        // Just enough parts to keep the threads busy.
        constexpr size_t LEAST = 4096, MOST = size_t{1} << 16, PER_THREAD = 8;  // characters, and parts
        const size_t enough = std::clamp(characters / (std::max<size_t>(threads, 1) * PER_THREAD), LEAST, MOST);
        const std::vector<size_t> firsts = groups_of(rows.size(), enough, [&](size_t row) { return rows[row].characters.length; });
        std::vector<EncodedRows> parts(firsts.size() - 1);
        // On any thread, without the interpreter lock; throws OnlyOnCaller if it needs Python.
        const auto encode = [&](size_t i) {
            typename Core::Borrowed space(*core_);
            parts[i] = {};
            for (size_t row = firsts[i]; row < firsts[i + 1]; row++) {
                encode_row(rows[row], split_special, *space, parts[i].ids);
                parts[i].ends.push_back(parts[i].ids.size());
            }
        };
        const auto hand_over = [&](size_t i) {
            take(parts[i]);
            parts[i] = {};
        };
        unlock_if_long(characters, [&] { core_->pool().run(parts.size(), threads, encode, hand_over); });
        return rows.size();
    }
    // Appends the ids of a row.
    void encode_row(const Row& row, bool split_special, typename Core::Workspace& space, IdBuffer& ids) const {
        core_->encode(row.characters, {1, 0, split_special, false, true}, space, {}, row.owner);
        if (space.known.ids) ids.append(space.known.held->text.ids.data(), space.known.ids);
        ids.append(space.ids.data(), space.ids.size());
    }
    std::unique_ptr<Core> core_;
    HeldTexts::Counters reported_{};
    const uint32_t largest_id_;
    mutable OffsetObjects offset_objects_;
};

}  // namespace lopt
