// Bytes that a test writes by hand.
#ifndef CAPSTAN_TESTS_UNIT_DATA_BYTES_OF_H_
#define CAPSTAN_TESTS_UNIT_DATA_BYTES_OF_H_

#include <initializer_list>
#include <string>

namespace capstan {

// Returns these bytes, each a number from 0 to 255.
inline std::string BytesOf(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

}  // namespace capstan

#endif  // CAPSTAN_TESTS_UNIT_DATA_BYTES_OF_H_
