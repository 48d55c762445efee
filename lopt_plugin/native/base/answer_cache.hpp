// Caches a function's answers for short texts.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.hpp"

namespace lopt {

// Bounded: a full cache is emptied. Never waits for its lock, which may never be released in a forked child.
template <class Answer>
class AnswerCache {
  public:
    using Ask = std::function<Answer(std::string_view)>;

    explicit AnswerCache(size_t most = size_t{1} << 12) : most_(most) {}

    // Returns ask(text), which may throw, or its cached answer.
    Answer operator()(std::string_view text, const Ask& ask) const {
        if (text.size() > LONGEST) return ask(text);
        const std::string key(text);
        {
            const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
            const auto found = lock ? answers_.find(key) : answers_.end();
            if (lock && found != answers_.end()) return found->second;
        }
        Answer answer = ask(text);
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (lock && answers_.size() >= most_) answers_.clear();
        if (lock) answers_.emplace(key, answer);
        return answer;
    }

  private:
    static constexpr size_t LONGEST = 64;  // bytes

    struct Hash {
        uint64_t secret = new_secret();
        size_t operator()(const std::string& text) const {
            return hash_bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size(), secret);
        }
    };

    size_t most_;
    mutable std::mutex mutex_;
    mutable std::unordered_map<std::string, Answer, Hash> answers_;
};

}  // namespace lopt
