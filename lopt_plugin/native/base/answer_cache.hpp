// A function of texts that caches its answers for short ones.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/hash.hpp"

namespace lopt {

// Bounded: a full cache is emptied. Never waits for its lock, which may never be released in a forked child.
template <class Answer>
class AnswerCache {
  public:
    using Ask = std::function<Answer(std::string_view)>;

    explicit AnswerCache(Ask ask, size_t most = size_t{1} << 12) : ask_(std::move(ask)), most_(most) {}

    // Is there a function?
    explicit operator bool() const { return static_cast<bool>(ask_); }

    // Returns the function's answer, or a cached one. May throw what the function throws.
    Answer operator()(std::string_view text) const {
        if (text.size() > LONGEST) return ask_(text);
        const std::string key(text);
        {
            const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
            const auto found = lock ? answers_.find(key) : answers_.end();
            if (lock && found != answers_.end()) return found->second;
        }
        Answer answer = ask_(text);
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

    Ask ask_;
    size_t most_;
    mutable std::mutex mutex_;
    mutable std::unordered_map<std::string, Answer, Hash> answers_;
};

}  // namespace lopt
