// Decoded values of one column.
#ifndef CAPSTAN_DATA_PARQUET_VALUES_H_
#define CAPSTAN_DATA_PARQUET_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace capstan::parquet {

// Values of one column, in the one of these lists that the type of the column determines. A value
// type; thread-compatible.
struct Values {
  // BOOLEAN, INT32, INT64; unsigned 64-bit values are stored with the same bits.
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::string_view> texts;  // BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY.

  size_t size() const { return integers.size() + floats.size() + doubles.size() + texts.size(); }
  void clear() {
    integers.clear();
    floats.clear();
    doubles.clear();
    texts.clear();
  }
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_VALUES_H_
