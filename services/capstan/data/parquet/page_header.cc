#include "capstan/data/parquet/page_header.h"

#include <limits>

#include "capstan/data/parquet/thrift_reader.h"

namespace capstan::parquet {
namespace {

// Returns a size or a count. A negative one becomes a number too large for any page.
uint64_t ReadSize(ThriftReader& in, const ThriftField& field) {
  return static_cast<uint64_t>(in.Integer(field));
}

// Parses the part of data pages of version 1, and that of dictionaries, which has the first two of
// its fields.
void ReadDataPage(ThriftReader& in, PageHeader& header) {
  for (ThriftField field; in.Next(field);) {
    if (field.id == 1) {
      header.values = ReadSize(in, field);
    } else if (field.id == 2) {
      header.encoding = in.Integer(field);
    } else if (field.id == 3 && field.type == ThriftType::kInteger) {
      header.level_encoding = in.Integer(field);
    } else {
      in.Skip(field);
    }
  }
}

void ReadDataPageV2(ThriftReader& in, PageHeader& header) {
  for (ThriftField field; in.Next(field);) {
    switch (field.id) {
      case 1:
        header.values = ReadSize(in, field);
        break;
      case 4:
        header.encoding = in.Integer(field);
        break;
      case 5:
        header.level_bytes = ReadSize(in, field);
        break;
      case 6:
        header.repetition_bytes = ReadSize(in, field);
        break;
      case 7:
        header.compressed = in.Flag(field);
        break;
      default:
        in.Skip(field);
    }
  }
}

void ReadField(ThriftReader& in, const ThriftField& field, PageHeader& header) {
  switch (field.id) {
    case 1:
      header.kind = in.Integer(field);
      return;
    case 2:
      header.bytes = ReadSize(in, field);
      return;
    case 3:
      header.stored_bytes = ReadSize(in, field);
      return;
    case 4:
      header.crc = static_cast<uint32_t>(in.Integer(field));
      return;
    case 5:
    case 7:
      in.Struct(field);
      return ReadDataPage(in, header);
    case 8:
      in.Struct(field);
      return ReadDataPageV2(in, header);
    default:
      in.Skip(field);
  }
}

}  // namespace

Parsed ParsePageHeader(std::string_view bytes, PageHeader& header) {
  constexpr uint64_t kMostPage = uint64_t{1} << 31;
  constexpr int64_t kMostEnum = std::numeric_limits<int32_t>::max();
  header = {};
  ThriftReader in(bytes);
  for (ThriftField field; in.Next(field);) ReadField(in, field, header);
  if (in.failed()) return in.ended_early() ? Parsed::kNeedsMore : Parsed::kMalformed;
  header.header_bytes = in.position();
  const bool fits = header.kind >= 0 && header.kind <= kMostEnum && header.encoding <= kMostEnum &&
                    header.encoding >= -1 && header.bytes < kMostPage &&
                    header.stored_bytes < kMostPage && header.values < kMostPage &&
                    header.level_bytes <= header.stored_bytes &&
                    header.repetition_bytes <= header.stored_bytes;
  return fits ? Parsed::kYes : Parsed::kMalformed;
}

}  // namespace capstan::parquet
