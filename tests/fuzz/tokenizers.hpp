// The tokenizers that dump.py wrote, as cores, and what is needed to judge what they answer.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/needs_reference.hpp"
#include "compiled/file_header.hpp"
#include "compiled/read_core.hpp"
#include "core/byte_pair_description.hpp"
#include "core/word_piece_method.hpp"
#include "naive.hpp"
#include "normalize/map_characters.hpp"
#include "normalize/normalization_form.hpp"
#include "normalize/replace.hpp"
#include "normalize/strip_and_prepend.hpp"

namespace lopt::fuzz {

// Reads what Writer of dump.py wrote.
class Reader {
  public:
    explicit Reader(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::runtime_error("cannot read " + path.string());
        data_.assign(std::istreambuf_iterator<char>(file), {});
    }
    size_t number() {
        uint64_t value;
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    bool flag() { return number() != 0; }
    std::string text() {
        const size_t size = number();
        return {take(size), size};
    }
    template <class Element>
    std::vector<Element> array() {
        const std::string bytes = text();
        std::vector<Element> elements(bytes.size() / sizeof(Element));
        if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(Element));
        return elements;
    }
    template <class Read>
    void each(Read&& read) {
        for (size_t left = number(); left > 0; left--) read();
    }

  private:
    const char* take(size_t size) {
        if (data_.size() - at_ < size) throw std::runtime_error("what dump.py wrote is too short");
        at_ += size;
        return data_.data() + at_ - size;
    }
    std::string data_;
    size_t at_ = 0;
};

inline std::filesystem::path data_folder() {
    const char* folder = std::getenv("LOPT_FUZZ_DATA");
    return folder ? folder : "build/fuzz/data";
}

inline const UnicodeTables& unicode_tables() {
    static const UnicodeTables tables = [] {
        UnicodeTables made;
        Reader in(data_folder() / "unicode");
        in.each([&] {
            const auto c = static_cast<uint32_t>(in.number());
            made.decompositions[c] = in.text();
        });
        in.each([&] {
            const auto c = static_cast<uint32_t>(in.number());
            made.classes[c] = static_cast<int>(in.number());
        });
        in.each([&] {
            const auto a = static_cast<uint32_t>(in.number()), b = static_cast<uint32_t>(in.number());
            made.compositions[{a, b}] = static_cast<uint32_t>(in.number());
        });
        in.each([&] { made.unknown.insert(static_cast<uint32_t>(in.number())); });
        return made;
    }();
    return tables;
}

inline ClassTable class_table(Reader& in) {
    const auto pages = in.array<uint16_t>(), cells = in.array<uint16_t>();
    return {pages.data(), pages.size(), cells.data(), cells.size()};
}

inline CharacterSet character_set(const std::string& members) { return CharacterSet(UnicodeTables::code_points(members)); }

inline ReferenceNormalize normalization_form(const std::string& name) {
    return [composes = name == "NFC", known = name == "NFC" || name == "NFD"](std::string_view text) {
        for (const uint32_t c : UnicodeTables::code_points(text))
            if (!known || unicode_tables().unknown.contains(c)) throw NeedsReference("a form that is not written here");
        return unicode_tables().form(text, composes);
    };
}

struct Added {
    std::vector<AddedToken> raw, normalized;

    explicit Added(Reader& in) {
        in.each([&] {
            AddedToken token{in.text(), static_cast<uint32_t>(in.number()), in.flag(), in.flag(), in.flag(), false};
            const bool is_normalized = in.flag();
            token.special = in.flag();
            (is_normalized ? normalized : raw).push_back(std::move(token));
        });
    }
};

// Names of a vocabulary and merges, which the items point into.
struct Names {
    std::vector<std::pair<std::string, uint32_t>> entries;
    std::vector<std::pair<std::string, std::string>> pairs;

    std::vector<VocabularyItem> items() const {
        std::vector<VocabularyItem> made;
        for (const auto& [name, id] : entries) made.push_back({name, id});
        return made;
    }
    std::vector<MergeItem> merges() const {
        std::vector<MergeItem> made;
        for (const auto& [left, right] : pairs) made.push_back({left, right});
        return made;
    }
    void read_entries(Reader& in) {
        in.each([&] {
            std::string name = in.text();
            entries.emplace_back(std::move(name), static_cast<uint32_t>(in.number()));
        });
    }
};

// Everything that a core of BPE is made of but its character classes, as the binding gets it from Python.
struct BytePairDescription {
    Names names;
    bool ignore_merges = false;
    std::array<uint8_t, 256> byte_classes{};
    std::string scanner;
    std::vector<Refinement> refinements;
    bool add_prefix_space = false;
    std::vector<AddedToken> raw, normalized;
    std::string dropped_bytes, suffix;
    std::optional<UnknownOptions> unknown;
    std::optional<Metaspace> metaspace;

    // Throws std::invalid_argument for what the core refuses.
    std::unique_ptr<BytePairCore> core(std::shared_ptr<const ClassTable> classes, std::vector<std::unique_ptr<NormalizerStep>> steps) const {
        return make_core({names.items(), names.merges(), ignore_merges, add_prefix_space, dropped_bytes, suffix, unknown,
                          {std::move(classes), std::move(steps), scanner, refinements, byte_classes, metaspace}, {raw, normalized}});
    }
    NaiveModel naive() const { return NaiveModel(names.items(), names.merges(), {ignore_merges, suffix, unknown, scanner == CutScanner::name_before_spaces}); }
};

// Two cores of one tokenizer, of which the second holds texts for later ones, in blocks of a few characters.
template <class Core>
struct Pair {
    std::unique_ptr<Core> plain, recalling;

    void remember() const {
        constexpr size_t LIMIT = size_t{1} << 16, BLOCK = 16;
        constexpr int HASH_BITS = 3;
        recalling->prefix_cache().turn_on(LIMIT, BLOCK, HASH_BITS);
        recalling->trust_seams();
    }
};

struct Tokenizer {
    std::string name;
    std::variant<Pair<BytePairCore>, Pair<WordPieceCore>, Pair<UnigramCore>> cores;
    std::optional<NaiveModel> naive;                      // of BPE
    std::unordered_map<uint32_t, std::string> added;      // contents of added tokens, by id
    std::shared_ptr<const BytePairDescription> described;  // of BPE
    std::shared_ptr<const ClassTable> classes;
};

inline std::unique_ptr<NormalizerStep> normalizer_step(Reader& in, const std::shared_ptr<const ClassTable>& classes,
                                                       const std::shared_ptr<const ClassTable>& forms, const std::vector<ComposingPair>& pairs) {
    const std::string kind = in.text();
    if (kind == "form") {
        const std::string form = in.text();
        return lopt::normalization_form(form, {classes, forms, pairs}, normalization_form(form), {});
    }
    if (kind == "replace") {
        const std::string text = in.text();
        return std::make_unique<ReplaceText>(text, in.text());
    }
    if (kind == "replace_runs") {
        const CharacterSet of = character_set(in.text());
        const size_t least = in.number();
        const bool each = in.flag();
        return std::make_unique<ReplaceRuns>(of, least, each, in.text());
    }
    if (kind == "strip") {
        const CharacterSet of = character_set(in.text());
        const bool left = in.flag();
        return std::make_unique<Strip>(of, left, in.flag());
    }
    if (kind == "prepend") return std::make_unique<Prepend>(in.text());
    if (kind != "characters") throw std::runtime_error("a normalizer step that the fuzzers do not know: " + kind);
    MapCharacters::Texts texts;
    in.each([&] {
        const auto code_point = static_cast<uint32_t>(in.number());
        texts[code_point] = in.text();
    });
    return std::make_unique<MapCharacters>(std::move(texts));
}

inline Pair<BytePairCore> read_byte_pair(Reader& in, Tokenizer& tokenizer) {
    auto described = std::make_shared<BytePairDescription>();
    described->names.read_entries(in);
    in.each([&] {
        std::string left = in.text();
        described->names.pairs.emplace_back(std::move(left), in.text());
    });
    described->ignore_merges = in.flag();
    const auto classes = std::make_shared<const ClassTable>(class_table(in));
    const auto pairs = in.array<ComposingPair>();
    const std::string byte_classes = in.text();
    std::memcpy(described->byte_classes.data(), byte_classes.data(), described->byte_classes.size());
    described->scanner = in.text();
    in.each([&] {
        const std::string matcher = in.text(), behavior = in.text();
        const bool invert = in.flag();
        described->refinements.push_back(make_refinement(matcher, behavior, invert, in.flag()));
    });
    described->add_prefix_space = in.flag();
    // Steps may need tables that stand after them: they are made when all is read, once for each core.
    Reader steps = in;
    std::shared_ptr<const ClassTable> forms;
    const auto read_steps = [&](Reader& from) {
        std::vector<std::unique_ptr<NormalizerStep>> made;
        from.each([&] { made.push_back(normalizer_step(from, classes, forms ? forms : classes, pairs)); });
        return made;
    };
    static_cast<void>(read_steps(in));
    Added added(in);
    described->raw = std::move(added.raw);
    described->normalized = std::move(added.normalized);
    described->dropped_bytes = in.text();
    const auto form_pages = in.array<uint16_t>(), form_cells = in.array<uint16_t>();
    if (!form_cells.empty()) forms = std::make_shared<const ClassTable>(form_pages.data(), form_pages.size(), form_cells.data(), form_cells.size());
    described->suffix = in.text();
    in.each([&] {
        const bool has_token = in.flag();
        std::string token = in.text();
        const bool fused = in.flag();
        described->unknown = UnknownOptions{has_token ? std::optional(token) : std::nullopt, fused, in.flag()};
    });
    in.each([&] {
        const bool in_normalizer = in.flag(), prepends = in.flag();
        const std::string scheme = in.text();
        described->metaspace = Metaspace{in_normalizer, prepends,
                                         scheme == "never" ? PrependScheme::never : scheme == "first" ? PrependScheme::first : PrependScheme::always};
    });
    const auto make = [&] {
        Reader again = steps;
        return described->core(classes, read_steps(again));
    };
    Pair<BytePairCore> cores{make(), make()};
    tokenizer.naive = described->naive();
    tokenizer.described = described;
    tokenizer.classes = classes;
    return cores;
}

inline Pair<WordPieceCore> read_word_piece(Reader& in) {
    Names names;
    names.read_entries(in);
    const auto unknown_id = static_cast<uint32_t>(in.number());
    const std::string prefix = in.text();
    const size_t most_characters = in.number();
    struct Arrays {
        std::vector<uint16_t> pages, cells;
        std::vector<uint32_t> changed, image_ends;
        std::vector<uint8_t> images;

        explicit Arrays(Reader& from)
            : pages(from.array<uint16_t>()), cells(from.array<uint16_t>()), changed(from.array<uint32_t>()), image_ends(from.array<uint32_t>()),
              images(from.array<uint8_t>()) {}
        std::unique_ptr<const WordCharacters> characters() const {
            return std::make_unique<const WordCharacters>(ClassTable(pages.data(), pages.size(), cells.data(), cells.size()), changed, image_ends, images);
        }
    };
    const Arrays words(in);
    std::optional<Arrays> text;
    in.each([&] { text.emplace(in); });
    const bool orders = in.flag();
    const Added added(in);
    const auto make = [&] {
        CanonicalOrder::Order order;
        if (orders) order = [](std::string_view) -> std::string { throw NeedsReference("an order that is not written here"); };
        WordPieceConfiguration configuration{words.characters(), text ? text->characters() : nullptr, order, prefix, unknown_id, most_characters};
        auto method = std::make_unique<WordPieceMethod>(std::move(configuration), names.items());
        return std::make_unique<WordPieceCore>(std::move(method), AddedTokenSets{added.raw, added.normalized}, false);
    };
    return {make(), make()};
}

// A compiled file, and the version that wrote it.
struct CompiledFile {
    std::string content, version;

    static constexpr size_t AFTER_CHECKSUM = FILE_SIGNATURE.size() + 2 * sizeof(uint32_t);

    explicit CompiledFile(const std::filesystem::path& path) {
        std::ifstream in(path, std::ios::binary);
        content.assign(std::istreambuf_iterator<char>(in), {});
        version = FileReader(std::string_view(content).substr(AFTER_CHECKSUM)).text();
    }
};

// Unigram models come from their compiled files: each value of these is read in one place.
inline Pair<UnigramCore> read_unigram(const std::filesystem::path& path) {
    const CompiledFile file(path);
    const auto make = [&] {
        FileReader in = after_header(file.content, file.version);
        static_cast<void>(in.text());  // what it was made from, and the ids around a text
        for (int i = 0; i < 2; i++) static_cast<void>(read_array<uint32_t>(in));
        return std::get<std::unique_ptr<UnigramCore>>(read_core(in));
    };
    return {make(), make()};
}

inline Tokenizer read_tokenizer(const std::filesystem::path& path) {
    Tokenizer tokenizer;
    tokenizer.name = path.filename();
    if (tokenizer.name.starts_with("unigram_")) {
        tokenizer.cores = read_unigram(path);
    } else {
        Reader in(path);
        if (in.text() == "byte_pair") tokenizer.cores = read_byte_pair(in, tokenizer);
        else tokenizer.cores = read_word_piece(in);
    }
    std::visit(
        [&](auto& cores) {
            cores.remember();
            const auto& segmenter = cores.plain->segmenter();
            for (const AddedTokens* tokens : {&segmenter.raw_tokens(), &segmenter.normalized_tokens()})
                for (const AddedToken& token : tokens->all()) tokenizer.added[token.id] = token.content;
        },
        tokenizer.cores);
    return tokenizer;
}

// All of them, or those that LOPT_FUZZ_TOKENIZERS names, with commas between.
inline std::vector<Tokenizer>& tokenizers() {
    static std::vector<Tokenizer>& all = *[] {
        auto* made = new std::vector<Tokenizer>;
        std::vector<std::filesystem::path> paths;
        for (const auto& entry : std::filesystem::directory_iterator(data_folder() / "tokenizers")) paths.push_back(entry.path());
        for (const char* name : {"unigram_bytes", "unigram_t5"}) paths.push_back(data_folder() / "compiled" / name);
        std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.filename() < b.filename(); });
        const char* wanted = std::getenv("LOPT_FUZZ_TOKENIZERS");
        for (const auto& path : paths)
            if (!wanted || ("," + std::string(wanted) + ",").find("," + path.filename().string() + ",") != std::string::npos)
                made->push_back(read_tokenizer(path));
        return made;
    }();
    return all;
}

}  // namespace lopt::fuzz
