// Decodes the values of a page.
#ifndef CAPSTAN_DATA_PARQUET_VALUE_DECODER_H_
#define CAPSTAN_DATA_PARQUET_VALUE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "capstan/data/parquet/metadata.h"
#include "capstan/data/parquet/values.h"

namespace capstan::parquet {

// Numbered as in the file.
enum class Encoding {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kRleDictionary = 8,
  kByteStreamSplit = 9,
};

inline bool IsDictionary(int64_t encoding) {
  return encoding == static_cast<int64_t>(Encoding::kPlainDictionary) ||
         encoding == static_cast<int64_t>(Encoding::kRleDictionary);
}

// Implementations are thread-compatible, and allocate memory only for values that are read.
class ValueDecoder {
 public:
  virtual ~ValueDecoder() = default;

  // Appends the next `count` values to `values`. Texts are valid until the next call, and at most
  // as long as the decoder's bytes. Returns false if the data are malformed or end before.
  virtual bool Read(size_t count, Values& values) = 0;
};

// Returns a decoder of the values in `bytes`, which must outlive the result; null if values of this
// column's type cannot have this encoding.
std::unique_ptr<ValueDecoder> NewValueDecoder(int64_t encoding, const Column& column,
                                              std::string_view bytes);

// "encoding BIT_PACKED".
std::string EncodingName(int64_t encoding);

// The decoders of each encoding; `column` must have a type for which the encoding is defined.
std::unique_ptr<ValueDecoder> NewPlainDecoder(const Column& column, std::string_view bytes);
std::unique_ptr<ValueDecoder> NewRleBooleanDecoder(std::string_view bytes);
std::unique_ptr<ValueDecoder> NewDeltaIntegerDecoder(const Column& column, std::string_view bytes);
std::unique_ptr<ValueDecoder> NewDeltaLengthDecoder(std::string_view bytes);
std::unique_ptr<ValueDecoder> NewDeltaTextDecoder(std::string_view bytes);
std::unique_ptr<ValueDecoder> NewByteStreamSplitDecoder(const Column& column,
                                                        std::string_view bytes);

// Appends the value in `bytes`, which has ValueBytes(column) bytes. REQUIRES: it is INT32, INT64,
// FLOAT or DOUBLE.
void AppendNumber(const Column& column, std::string_view bytes, Values& values);

// Returns the size in bytes of a value of `column`; 0 if it varies.
size_t ValueBytes(const Column& column);

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_VALUE_DECODER_H_
