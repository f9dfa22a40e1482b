// A training file of any format, plain or compressed. First byte: format and size of tasks.
#include "tests/fuzz/fuzz.h"
#include "tests/unit/data/any_bytes.h"

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  capstan::ReadAnyBytes(static_cast<uint8_t>(input[0]), input.substr(1));
}
