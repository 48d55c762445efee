// The header of a compiled file: a signature, the format, a checksum of everything after it, and the version that wrote
// it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "compiled/file_reader.hpp"

namespace lopt {

inline constexpr std::string_view FILE_SIGNATURE = "\x93LOPT\r\n\x1A";
// Increase it when a value changes its position or meaning.
inline constexpr uint32_t FILE_FORMAT = 1;

// CRC-32, as in zlib.
inline uint32_t checksum(std::string_view bytes) {
    static const auto table = [] {
        std::array<uint32_t, 256> made;
        for (uint32_t i = 0; i < 256; i++) {
            made[i] = i;
            for (int bit = 0; bit < 8; bit++) made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0xEDB88320u : 0);
        }
        return made;
    }();
    uint32_t sum = ~uint32_t{0};
    for (const char byte : bytes) sum = sum >> 8 ^ table[(sum ^ static_cast<uint8_t>(byte)) & 0xFF];
    return ~sum;
}

// Returns a reader for the part after the header. Throws InvalidFileError if the file is damaged or was written by
// another version, because only that version defines what the values mean.
inline FileReader after_header(std::string_view file, std::string_view version) {
    if (!file.starts_with(FILE_SIGNATURE)) throw InvalidFileError("this is not a compiled file of lopt_plugin");
    FileReader in(file.substr(FILE_SIGNATURE.size()));
    const auto other = [version](std::string_view theirs) {
        return InvalidFileError("the file was compiled by lopt_plugin " + std::string(theirs) + ", and this is " + std::string(version) +
                                "; compile it again");
    };
    if (in.number() != FILE_FORMAT) throw other("of another format");
    const uint32_t sum = in.number();
    if (checksum(in.rest()) != sum) in.fail("its checksum is wrong");
    if (const std::string_view writer = in.text(); writer != version) throw other(writer);
    return in;
}

}  // namespace lopt
