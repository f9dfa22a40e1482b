// Reads arbitrary bytes as a file of any format: for the fuzzer, and for a test with mutated files.
#ifndef TESTS_UNIT_DATA_ANY_BYTES_H_
#define TESTS_UNIT_DATA_ANY_BYTES_H_

#include <cstdint>
#include <string_view>

namespace capstan {

// `choice` picks the format and the size of tasks. Derives, plans and reads; whatever the bytes
// are, none of it may crash, and small tasks together must hold what one large task holds.
void ReadAnyBytes(uint8_t choice, std::string_view bytes);

}  // namespace capstan

#endif  // TESTS_UNIT_DATA_ANY_BYTES_H_
