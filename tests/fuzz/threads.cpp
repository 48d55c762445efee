// Eight threads call everything that a core offers, on the same cores, for ThreadSanitizer; answers must be those of one
// thread alone. Word caches, the prefix cache, workspaces and worker threads are shared.
//
//     LOPT_FUZZ_DATA=build/fuzz/data build/fuzz/threads [ROUNDS]
#include <atomic>
#include <numeric>
#include <thread>

#include "checks.hpp"
#include "core/packed_rows.hpp"
#include "growing/growing.hpp"
#include "growing/longest_prefix.hpp"

namespace lopt::fuzz {
namespace {

constexpr size_t THREADS = 8;

std::vector<PythonText> hard_texts() {
    constexpr size_t SOME = 5;  // every fifth seed
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(data_folder() / "seeds")) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<PythonText> texts;
    std::vector<uint32_t> all;
    for (size_t i = 0; i < paths.size(); i += SOME) {
        std::ifstream file(paths[i], std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(file), {});
        Input in(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        const auto text = in.text();
        all.insert(all.end(), text.begin(), text.end());
        texts.emplace_back(text);
    }
    // Beginnings in common, for the prefix cache, and texts of many chunks.
    for (size_t length = 300; length < all.size(); length += length / 4) texts.emplace_back(std::vector<uint32_t>(all.begin(), all.begin() + static_cast<ptrdiff_t>(length)));
    return texts;
}

// What one thread alone says about a text.
struct Expected {
    std::optional<Ids> ids;
    std::vector<Offset> offsets;  // none where they are not known
    std::optional<size_t> cut;    // the longest prefix with half of the ids; none where too many would have to be tried
    size_t count = 0;             // ids of its middle part
};

bool same(const Offset& a, const Offset& b) { return a.begin == b.begin && a.end == b.end; }

template <class Core>
std::vector<Offset> offsets_of(const Core& core, const Characters& text, size_t threads, size_t chunk) {
    typename Core::Borrowed space(core);
    try {
        core.encode(text, {threads, chunk, false, true}, *space);
        std::vector<Offset> offsets(space->ids.size());
        core.offsets(*space, threads, offsets.size(), {}, offsets.data());
        return offsets;
    } catch (const NeedsReference&) {
        return {};
    }
}

template <class Core>
std::optional<size_t> cut_of(const Core& core, const Characters& text, size_t most, typename Core::Workspace& space) {
    try {
        return longest_prefix(core, text, most, false, space);
    } catch (const NeedsReference&) {
        return {};
    }
}

template <class Core>
Expected expected(const Core& core, const Characters& text) {
    Expected made{ids_of(core, text, {}), offsets_of(core, text, 1, 0), {}};
    if (!made.ids) return made;
    typename Core::Borrowed space(core);
    made.cut = cut_of(core, text, made.ids->size() / 2, *space);
    const auto part = ids_of(core, text.part(text.length / 3, text.length / 2), {});
    made.count = part ? part->size() : SIZE_MAX;
    return made;
}

template <class Core>
void try_all(const Pair<Core>& cores, const Characters& text, const Expected& right, size_t number) {
    const Core &core = *cores.plain, &recalling = *cores.recalling;
    const size_t threads = 1 + number % 4, chunk = 50 + number * 37 % 400;
    CHECK(ids_of(core, text, {1, 0}) == right.ids);
    CHECK(ids_of(core, text, {threads, chunk}) == right.ids);
    CHECK(ids_of(recalling, text, {threads, 0, false, false, true}) == right.ids);
    CHECK(ids_of(recalling, text, {1, 0, false, false, true}) == right.ids);
    CHECK(ids_of(recalling, text, {threads, chunk}) == right.ids);
    const auto offsets = offsets_of(core, text, threads, chunk);
    CHECK(std::equal(offsets.begin(), offsets.end(), right.offsets.begin(), right.offsets.end(), same));
    if (!right.ids) return;
    typename Core::Borrowed space(recalling);
    CHECK(count_ids(recalling, text, 0, text.length, false, false, SIZE_MAX, *space) == right.ids->size());
    if (number % 3 == 0) CHECK(cut_of(core, text, right.ids->size() / 2, *space) == right.cut);
    if (number % 3 == 1 && right.count != SIZE_MAX) {
        const Intervals<Core> intervals(core, text, false, *space);
        CHECK(intervals.count(text, text.length / 3, text.length / 2, *space) == right.count);
    }
    CHECK(recalling.prefix_cache().texts()->counters().bytes <= recalling.prefix_cache().texts()->counters().limit_bytes);
}

template <class Core>
void try_many(const Pair<Core>& cores, const std::vector<PythonText>& texts, const std::vector<Expected>& right, size_t number) {
    const Core& core = *cores.recalling;
    const size_t rows = 1 + number % 12;
    const auto at = [&](size_t i) { return (number + i) % texts.size(); };
    std::vector<std::optional<Ids>> ids(rows);
    {
        // As prompts of a list are encoded before they are asked for; what is not begun when it ends is left out.
        ThreadPool::Background ahead(core.pool(), rows, 2, [&](size_t i) { ids[i] = ids_of(core, texts[at(i)].characters(), {1, 0, false, false, true}); });
        for (size_t i = 0; i < rows / 2; i++) {
            CHECK(ahead.finish(i));
            CHECK(ids[i] == right[at(i)].ids);
        }
    }
    core.pool().run(rows, 3, [&](size_t i) { CHECK(ids_of(core, texts[at(i)].characters(), {}) == right[at(i)].ids); });
    std::vector<Characters> packed;
    for (size_t i = 0; i < rows; i++) packed.push_back(texts[at(i)].characters());
    try {
        const Packing packing(packed, core.pool(), 3, 100, core.method().page_marks(), [](uint32_t) { return true; });
        std::vector<size_t> all(rows);
        std::iota(all.begin(), all.end(), 0);
        size_t room = rows;
        for (const size_t row : all) room += packing.bytes(row);
        std::vector<uint8_t> out(room);
        const auto written = packing.write(all, 0, 1, out.data(), room, 3, core.segmenter().longest_token(), [&](const uint8_t* begin, const uint8_t* end) {
            return core.segmenter().any_added_token_in(begin, end);
        });
        const PackedRows made(out.data(), written, {}, core.pool(), 3, [&](const uint8_t* begin, const uint8_t* end, auto& segments) {
            core.segmenter().find_added_tokens(begin, end, false, segments);
        });
        CHECK(made.row_ends.size() == rows);
    } catch (const NeedsReference&) {
    }
}

template <class Core>
void run(const Pair<Core>& cores, const std::vector<PythonText>& texts, size_t rounds) {
    std::vector<Expected> right;
    for (const auto& text : texts) right.push_back(expected(*cores.plain, text.characters()));
    std::atomic<size_t> ready{0};
    std::vector<std::thread> workers;
    for (size_t worker = 0; worker < THREADS; worker++)
        workers.emplace_back([&, worker] {
            ready++;
            while (ready < THREADS) std::this_thread::yield();
            for (size_t i = 0; i < rounds; i++) {
                const size_t number = i * 7 + worker * 31, at = number % texts.size();
                try_all(cores, texts[at].characters(), right[at], number);
                if (number % 4 == 0) try_many(cores, texts, right, number);
            }
        });
    for (auto& worker : workers) worker.join();
}

}  // namespace
}  // namespace lopt::fuzz

int main(int count, char** arguments) {
    using namespace lopt::fuzz;
    constexpr size_t ROUNDS = 60;  // some minutes
    const size_t rounds = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : ROUNDS;
    const auto texts = hard_texts();
    for (auto& tokenizer : tokenizers()) {
        current_tokenizer = tokenizer.name.c_str();
        std::visit([&](auto& cores) { run(cores, texts, rounds); }, tokenizer.cores);
        std::printf("%s: %zu threads, %zu texts each, no difference\n", tokenizer.name.c_str(), THREADS, rounds);
        std::fflush(stdout);
    }
    std::printf("%zu tokenizers called by %zu threads, no difference\n", tokenizers().size(), THREADS);
    return 0;
}
