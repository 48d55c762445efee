// Compiled files. As they were written, they give the ids of the core that was built from Python's arguments; bytes that are not
// UTF-8 are refused, and all others are not. With changed bytes, under a checksum that fits, they are refused or work: nothing
// outside the file and the text is read, and no other error comes out.
#include "checks.hpp"
#include "compiled/compiled_tokenizer.hpp"
#include "text/invalid_utf8.hpp"

namespace lopt::fuzz {
namespace {

struct File {
    std::string name, content, version;
    std::unique_ptr<CompiledTokenizer> opened;
};

constexpr size_t AFTER_CHECKSUM = CompiledFile::AFTER_CHECKSUM;

const std::vector<File>& files() {
    static const std::vector<File>& all = *[] {
        auto* made = new std::vector<File>;
        for (const auto& entry : std::filesystem::directory_iterator(data_folder() / "compiled")) {
            const CompiledFile file(entry.path());
            made->push_back({entry.path().filename(), file.content, file.version, std::make_unique<CompiledTokenizer>(file.content, file.version)});
        }
        std::sort(made->begin(), made->end(), [](const File& a, const File& b) { return a.name < b.name; });
        return made;
    }();
    return all;
}

// Nothing where the reference has to answer. The text is copied: no byte may be read after it.
std::optional<Ids> ids_of(const CompiledTokenizer& tokenizer, std::string_view utf8, bool adds, bool split_special) {
    const std::vector<char> text(utf8.begin(), utf8.end());
    const std::string_view exact(text.data(), text.size());
    try {
        Ids ids(tokenizer.encode(exact, adds, split_special, nullptr, 0));
        CHECK(tokenizer.encode(exact, adds, split_special, ids.data(), ids.size()) == ids.size());
        return ids;
    } catch (const NeedsReference&) {
        return std::nullopt;
    }
}

// The text of the input without lone surrogates, which no UTF-8 has.
std::vector<uint32_t> text_of(Input& in, size_t most) {
    auto characters = in.text(most);
    std::erase_if(characters, is_surrogate);
    return characters;
}
std::string utf8_of(const std::vector<uint32_t>& characters) {
    std::string utf8;
    for (const uint32_t c : characters) append_character(c, utf8);
    return utf8;
}

void check_ids(const File& file, Input& in) {
    const bool split_special = in.flag();
    const auto characters = text_of(in, 2048);
    const std::string utf8 = utf8_of(characters);
    const auto ids = ids_of(*file.opened, utf8, false, split_special);
    const auto around = ids_of(*file.opened, utf8, true, split_special);
    CHECK(ids.has_value() == around.has_value());
    if (!ids) return;
    CHECK(ids->empty() || std::search(around->begin(), around->end(), ids->begin(), ids->end()) != around->end());
    const PythonText owner(characters);
    for (const Tokenizer& tokenizer : tokenizers())
        if (tokenizer.name == file.name)
            std::visit([&](const auto& cores) { CHECK(fuzz::ids_of(*cores.plain, owner.characters(), {1, 0, split_special}) == ids); }, tokenizer.cores);
}

void check_bytes(const File& file, Input& in) {
    std::string bytes, repaired;
    while (!in.empty()) bytes.push_back(static_cast<char>(in.byte()));
    const bool valid = append_repaired(bytes, repaired) == 0 && repaired == bytes;
    bool accepted = true;
    try {
        static_cast<void>(ids_of(*file.opened, bytes, true, false));
    } catch (const InvalidUtf8Error&) {
        accepted = false;
    }
    CHECK(accepted == valid);
}

void change(std::string& content, Input& in) {
    const size_t size = content.size() - AFTER_CHECKSUM, anywhere = in.number() << 8 | in.byte(), how = in.byte();
    char* const at = content.data() + AFTER_CHECKSUM + (how & 1 ? anywhere % size : anywhere % std::min<size_t>(size, 4096));
    const auto left = static_cast<size_t>(content.data() + content.size() - at);
    if (how & 2) {
        *at = static_cast<char>(in.byte());
    } else {
        constexpr uint32_t NUMBERS[] = {0, 1, 2, 3, 255, 8704, 1u << 16, 1u << 20, 1u << 31, ~uint32_t{0}};
        std::memcpy(at, &NUMBERS[in.below(std::size(NUMBERS))], std::min(left, sizeof(uint32_t)));
    }
    if (how >= 250) content.resize(content.size() - left);
}

void check_changed(const File& file, Input& in) {
    std::string content = file.content;
    for (size_t left = 1 + in.below(6); left > 0 && content.size() > AFTER_CHECKSUM; left--) change(content, in);
    const uint32_t sum = checksum(std::string_view(content).substr(AFTER_CHECKSUM));
    std::memcpy(content.data() + AFTER_CHECKSUM - sizeof sum, &sum, sizeof sum);
    std::optional<CompiledTokenizer> opened;
    try {
        const std::vector<char> exact(content.begin(), content.end());
        opened.emplace(std::string_view(exact.data(), exact.size()), file.version);
    } catch (const std::invalid_argument&) {
        return;
    }
    static_cast<void>(ids_of(*opened, utf8_of(text_of(in, 512)), true, false));
}

void check(Input& in) {
    const File& file = files()[in.below(files().size())];
    current_tokenizer = file.name.c_str();
    const size_t what = in.below(8);
    if (what == 0) return check_bytes(file, in);
    if (what < 4) return check_ids(file, in);
    check_changed(file, in);
}

}  // namespace
}  // namespace lopt::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    lopt::fuzz::tokenizers();  // before anything is timed
    lopt::fuzz::files();
    return 0;
}
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    lopt::fuzz::Input in(data, size);
    lopt::fuzz::check(in);
    return 0;
}
