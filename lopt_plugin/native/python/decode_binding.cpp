// The classes that turn ids into text.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <stdexcept>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpe/vocabulary.hpp"
#include "decode/decode_stream.hpp"
#include "python/decode_method.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_arguments.hpp"

namespace lopt {

namespace {

// For rows of at least this length, other Python threads run during decoding.
constexpr size_t LONG_ROW = size_t{1} << 14;
// The text of an id is asked for that many ids ahead.
constexpr size_t AHEAD = 8;

std::shared_ptr<const TokenTable> token_table(nb::list tokens, nb::list added, nb::list firsts, const std::vector<size_t>& special,
                                              bool byte_level, const std::vector<std::pair<size_t, uint8_t>>& byte_tokens, char stripped, uint32_t most) {
    if (nb::len(tokens) != nb::len(firsts) || nb::len(tokens) != nb::len(added)) throw std::invalid_argument("lists of other lengths");
    auto table = std::make_shared<TokenTable>(byte_level, LeadingStrip{stripped, most});
    const ByteAlphabet alphabet;
    std::string bytes;
    for (size_t id = 0; id < nb::len(tokens); id++) {
        const nb::object token = tokens[id];
        if (token.is_none()) {
            table->add_unknown();
        } else if (byte_level) {
            const std::string_view name = utf8_of(token);
            bytes.clear();
            // A token with another character stands for itself.
            const std::string_view text = alphabet.decode(name, bytes) ? bytes : name;
            table->add(name, text, text);
        } else {
            table->add(utf8_of(token), utf8_of(added[id]), utf8_of(firsts[id]));
        }
    }
    for (const size_t id : special) table->set_special(id);
    for (const auto& [id, byte] : byte_tokens) table->set_byte(id, byte);
    table->shrink();
    return table;
}

nb::object text_object(std::string_view text) {
    PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

// Takes an id or a list of ids. Returns false if one is not a plain 32-bit int, which the reference must then reject or
// read.
bool take_plain_ids(nb::handle given, std::vector<uint32_t>& ids) {
    const auto take = [&ids](int64_t id) {
        if (id < 0 || id > int64_t{UINT32_MAX}) return false;
        ids.push_back(static_cast<uint32_t>(id));
        return true;
    };
    if (PyLong_CheckExact(given.ptr())) {
        int overflow = 0;
        const int64_t id = PyLong_AsLongLongAndOverflow(given.ptr(), &overflow);
        return !overflow && take(id);
    }
    if (!PyList_CheckExact(given.ptr())) return false;
    ids.reserve(static_cast<size_t>(PyList_GET_SIZE(given.ptr())));
    return take_ids(given.ptr(), take);
}

// Decodes for one tokenizer as long as nothing indicates that the tokenizer may have changed. All members hold the
// interpreter lock.
class PythonDecoder {
  public:
    explicit PythonDecoder(std::shared_ptr<const TokenTable> table) : table_(std::move(table)) {}
    PythonDecoder(const PythonDecoder&) = delete;
    PythonDecoder& operator=(const PythonDecoder&) = delete;

    const std::shared_ptr<const TokenTable>& table() const { return table_; }
    uint64_t calls() const { return calls_; }
    size_t memory() const { return table_->memory() + texts_alone_.capacity() * sizeof(nb::object); }
    void allow(uint32_t calls) { allowed_ = calls; }
    void stop() { allowed_ = 0; }
    bool is_allowed() const { return allowed_ > 0; }
    // Must be called exactly once per call.
    bool may_answer() {
        if (!allowed_) return false;
        allowed_--;
        calls_++;
        return true;
    }

    nb::object decode(nb::handle given, nb::handle skip_special) {
        ids_.clear();
        if (!allowed_ || !PyBool_Check(skip_special.ptr()) || !take_plain_ids(given, ids_) || !may_answer()) return nb::none();
        const bool skips = skip_special.ptr() == Py_True;
        return ids_.size() == 1 && table_->shows(ids_[0], skips) ? text_alone(ids_[0]) : decoded(skips);
    }
    // The text of an id that is shown. All callers share one object per id; those of a vocabulary take a few megabytes.
    nb::object text_alone(uint32_t id) {
        if (texts_alone_.empty()) texts_alone_.resize(table_->size());
        nb::object& text = texts_alone_[id];
        if (!text.is_valid()) text = text_object(text_of({&id, 1}, false));
        return text;
    }
    nb::object decode_rows(nb::handle rows, nb::handle skip_special) {
        if (!allowed_ || !PyBool_Check(skip_special.ptr()) || !PyList_CheckExact(rows.ptr())) return nb::none();
        nb::list texts;
        // Lists can only change while other threads run, so each row is checked when its turn comes.
        for (Py_ssize_t row = 0; row < PyList_GET_SIZE(rows.ptr()); row++) {
            const nb::object ids = nb::borrow(PyList_GET_ITEM(rows.ptr(), row));
            ids_.clear();
            if (!PyList_CheckExact(ids.ptr()) || !take_plain_ids(ids, ids_)) return nb::none();
            texts.append(decoded(skip_special.ptr() == Py_True));
        }
        if (!may_answer()) return nb::none();
        return texts;
    }
    // The token of each id, or None.
    nb::object tokens(nb::handle given) {
        nb::list tokens;  // created first: the garbage collector may run finalizers that call this method again
        ids_.clear();
        if (!allowed_ || !PyList_CheckExact(given.ptr()) || !take_plain_ids(given, ids_) || !may_answer()) return nb::none();
        for (const uint32_t id : std::exchange(ids_, {})) {
            if (!table_->shows(id, false)) {
                tokens.append(nb::none());
                continue;
            }
            const std::string_view token = table_->token(id);
            tokens.append(nb::str(token.data(), token.size()));
        }
        return tokens;
    }

    // The text that a plain id adds.
    nb::object text_added(uint32_t id) { return table_->adds_alone(id) ? text_alone(id) : text_object(table_->added(id)); }

  private:
    nb::object decoded(bool skip_special) {
        if (ids_.size() < LONG_ROW) return text_object(text_of(ids_, skip_special));
        const std::vector<uint32_t> ids = std::exchange(ids_, {});
        std::string text;
        {
            const InterpreterUnlocked unlocked;
            text = text_of(ids, skip_special);
        }
        return text_object(text);
    }
    std::string text_of(std::span<const uint32_t> ids, bool skip_special) const {
        DecodedText text(*table_);
        for (size_t i = 0; i < ids.size(); i++) {
            if (i + 2 * AHEAD < ids.size()) table_->prefetch_entry(ids[i + 2 * AHEAD]);
            if (i + AHEAD < ids.size()) table_->prefetch_text(ids[i + AHEAD]);
            text.append(ids[i], skip_special);
        }
        return text.take();
    }

    std::shared_ptr<const TokenTable> table_;
    std::vector<nb::object> texts_alone_;  // for the ids requested so far
    std::vector<uint32_t> ids_;
    uint32_t allowed_ = 0;
    uint64_t calls_ = 0;
};

// `otherwise(stream, id, invalid)` handles a step that the decoder may not answer, or whose prefix is invalid.
class PythonDecodeStream {
  public:
    PythonDecodeStream(std::shared_ptr<PythonDecoder> decoder, const std::vector<uint32_t>& ids, bool skip_special, nb::object otherwise)
        : decoder_(std::move(decoder)), stream_(decoder_->table(), ids, skip_special), otherwise_(std::move(otherwise)) {}

    static nb::object step(nb::handle self, nb::handle given) {
        auto& stream = *nb::inst_ptr<PythonDecodeStream>(self);
        bool invalid = false;
        stream.ids_.clear();
        if (take_plain_ids(given, stream.ids_) && stream.decoder_->may_answer()) {
            if (stream.ids_.size() == 1 && stream.stream_.step_plainly(stream.ids_[0])) return stream.decoder_->text_added(stream.ids_[0]);
            try {
                if (!stream.stream_.step(stream.ids_.data(), stream.ids_.size(), stream.part_)) return nb::none();
                return text_object(stream.part_);
            } catch (const InvalidPrefix&) {
                invalid = true;
            }
        }
        return stream.otherwise_(self, given, invalid);
    }
    nb::tuple state() {
        // These are copies, because a finalizer may step this stream while the list is created.
        const std::vector<uint32_t> ids = stream_.ids();
        const std::string prefix = stream_.prefix();
        const size_t prefix_ids = stream_.prefix_ids();
        return nb::make_tuple(nb::cast(ids), prefix, prefix_ids);
    }
    bool skips_special() const { return stream_.skips_special(); }
    void go_on(std::shared_ptr<PythonDecoder> decoder, const std::vector<uint32_t>& ids, const std::string& prefix, size_t prefix_ids) {
        stream_.go_on((decoder ? decoder : decoder_)->table(), ids, prefix, prefix_ids);
        if (decoder) decoder_ = std::move(decoder);
    }

  private:
    std::shared_ptr<PythonDecoder> decoder_;
    DecodeStream stream_;
    nb::object otherwise_;
    std::vector<uint32_t> ids_;
    std::string part_;
};

}  // namespace

void define_decoding(nb::module_& module) {
    nb::class_<TokenTable>(module, "TokenTable");
    module.def("token_table", &token_table, nb::kw_only(), nb::arg("tokens"), nb::arg("added"), nb::arg("firsts"), nb::arg("special"),
               nb::arg("byte_level"), nb::arg("byte_tokens"), nb::arg("stripped"), nb::arg("most_stripped"));
    nb::class_<PythonDecoder>(module, "Decoder", nb::is_weak_referenceable())
        .def(nb::init<std::shared_ptr<const TokenTable>>(), nb::arg("table"))
        .def("allow", &PythonDecoder::allow, nb::arg("calls"))
        .def("stop", &PythonDecoder::stop)
        .def("is_allowed", &PythonDecoder::is_allowed)
        .def("decode", &PythonDecoder::decode, nb::arg("ids").none(), nb::arg("skip_special_tokens").none())
        .def("decode_rows", &PythonDecoder::decode_rows, nb::arg("rows").none(), nb::arg("skip_special_tokens").none())
        .def("tokens", &PythonDecoder::tokens, nb::arg("ids").none())
        .def_prop_ro("table", [](const PythonDecoder& decoder) { return decoder.table(); })
        .def_prop_ro("calls", &PythonDecoder::calls)
        .def_prop_ro("bytes", &PythonDecoder::memory);
    module.def("decode_method", &DecodeMethod::made, nb::arg("otherwise"));
    nb::class_<PythonDecodeStream>(module, "DecodeStream")
        .def(nb::init<std::shared_ptr<PythonDecoder>, const std::vector<uint32_t>&, bool, nb::object>(), nb::arg("decoder"), nb::arg("ids"),
             nb::arg("skip_special_tokens"), nb::arg("otherwise"))
        .def("step", &PythonDecodeStream::step, nb::arg("id").none())
        .def("state", &PythonDecodeStream::state)
        .def("go_on", &PythonDecodeStream::go_on, nb::arg("decoder").none(), nb::arg("ids"), nb::arg("prefix"), nb::arg("prefix_ids"))
        .def_prop_ro("skip_special_tokens", &PythonDecodeStream::skips_special);
}

}  // namespace lopt
