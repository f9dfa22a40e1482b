#include "capstan/data/parquet/value_decoder.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace capstan::parquet {

std::unique_ptr<ValueDecoder> NewValueDecoder(int64_t encoding, const Column& column,
                                              std::string_view bytes) {
  const Physical type = column.physical;
  const bool integer = type == Physical::kInt32 || type == Physical::kInt64;
  const bool number = integer || type == Physical::kFloat || type == Physical::kDouble;
  const bool text = type == Physical::kByteArray;
  const bool fixed = type == Physical::kFixed;
  switch (static_cast<Encoding>(encoding)) {
    case Encoding::kPlain:
      return type == Physical::kInt96 ? nullptr : NewPlainDecoder(column, bytes);
    case Encoding::kRle:
      return type == Physical::kBoolean ? NewRleBooleanDecoder(bytes) : nullptr;
    case Encoding::kDeltaBinaryPacked:
      return integer ? NewDeltaIntegerDecoder(column, bytes) : nullptr;
    case Encoding::kDeltaLengthByteArray:
      return text ? NewDeltaLengthDecoder(bytes) : nullptr;
    case Encoding::kDeltaByteArray:
      return text || fixed ? NewDeltaTextDecoder(bytes) : nullptr;
    case Encoding::kByteStreamSplit:
      return number || fixed ? NewByteStreamSplitDecoder(column, bytes) : nullptr;
    default:
      return nullptr;
  }
}

std::string EncodingName(int64_t encoding) {
  constexpr std::array<const char*, 10> kNames = {
      "PLAIN",          "GROUP_VAR_INT",       "PLAIN_DICTIONARY",        "RLE",
      "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
      "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"};
  const bool known = encoding >= 0 && encoding < static_cast<int64_t>(kNames.size());
  return known ? absl::StrCat("encoding ", kNames[static_cast<size_t>(encoding)])
               : absl::StrCat("encoding number ", encoding);
}

}  // namespace capstan::parquet
