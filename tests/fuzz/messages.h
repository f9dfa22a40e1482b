// An input that is a list of messages, `kind:u8 length:u16 message`, as several fuzzers read it.
#ifndef CAPSTAN_TESTS_FUZZ_MESSAGES_H_
#define CAPSTAN_TESTS_FUZZ_MESSAGES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace capstan {

// Calls hear(kind, message) for each; the last one may be shorter than it says.
inline void ForEachMessage(std::string_view input,
                           const std::function<void(uint8_t, std::string_view)>& hear) {
  while (input.size() >= 3) {
    uint16_t length;
    std::memcpy(&length, &input[1], sizeof(length));
    hear(static_cast<uint8_t>(input[0]), input.substr(3, length));
    input.remove_prefix(std::min(input.size(), size_t{3} + length));
  }
}

// Returns a number below `n` + `further` for the kind of a message. Kinds below 128 are the first
// `n`, again and again, and those above are the `further` ones that a target has learned of since:
// inputs that were found before go on meaning the same.
constexpr uint8_t kFirstFurther = 128;
constexpr uint8_t KindOf(uint8_t kind, uint8_t n, uint8_t further) {
  return kind < kFirstFurther ? kind % n : n + (kind - kFirstFurther) % further;
}

// As gRPC reads it; what is no message of the type reaches no handler. True: it is one.
template <typename T>
bool Parse(std::string_view bytes, T& message) {
  return message.ParseFromString(std::string(bytes));
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_FUZZ_MESSAGES_H_
