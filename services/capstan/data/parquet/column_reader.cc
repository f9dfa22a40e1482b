#include "capstan/data/parquet/column_reader.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/parquet/codecs.h"
#include "capstan/data/parquet/little_endian.h"

namespace capstan::parquet {
namespace {

constexpr size_t kLikelyHeader = 512;
// A header contains statistics, which may be long texts.
constexpr size_t kMostHeader = size_t{1} << 20;
constexpr size_t kLevelLength = 4;
constexpr uint32_t kMostPlaceBits = 32;
// The most entries of one page of a list; writers use some thousands.
constexpr uint64_t kMostEntries = 4'000'000;

std::string_view ViewOf(const std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

// Removes levels, which are preceded by their length, from the beginning of a page. Returns false
// if the page ends within them.
bool TakeLevels(std::string_view& bytes, std::string_view& levels) {
  if (bytes.size() < kLevelLength) return false;
  const uint64_t size = LittleEndian(bytes.substr(0, kLevelLength));
  bytes.remove_prefix(kLevelLength);
  if (size > bytes.size()) return false;
  levels = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

}  // namespace

ColumnReader::ColumnReader(const Column& column, const Chunk& chunk, RangedFile& file)
    : column_(column), chunk_(chunk), file_(file), at_(chunk.begin), rows_left_(chunk.values) {}

absl::Status ColumnReader::Skip(uint64_t rows) {
  skip_ += rows;
  while (skip_ > 0) {
    if (page_rows_ == 0) {
      CAPSTAN_RETURN_IF_ERROR(NextPage());
      continue;
    }
    const size_t now = std::min({skip_, page_rows_, uint64_t{kMostRows}});
    CAPSTAN_RETURN_IF_ERROR(DecodeRows(now));
    skip_ -= now;
  }
  return absl::OkStatus();
}

absl::StatusOr<const Cells*> ColumnReader::Next(uint64_t most) {
  while (page_rows_ == 0) CAPSTAN_RETURN_IF_ERROR(NextPage());
  CAPSTAN_RETURN_IF_ERROR(DecodeRows(std::min({most, page_rows_, uint64_t{kMostRows}})));
  return &cells_;
}

// Advances to the next page with a row that is not to be skipped.
absl::Status ColumnReader::NextPage() {
  page_ = at_;
  CAPSTAN_ASSIGN_OR_RETURN(const PageHeader header, ReadHeader());
  body_ = at_ + header.header_bytes;
  if (body_ > chunk_.end || header.stored_bytes > chunk_.end - body_) {
    return Damaged("a page does not end with its column");
  }
  at_ = body_ + header.stored_bytes;
  const bool data = header.kind == static_cast<int64_t>(PageKind::kData) ||
                    header.kind == static_cast<int64_t>(PageKind::kDataV2);
  if (!data) return LoadPage(header);
  if (header.values > rows_left_) return Damaged("it has more values than its row group has rows");
  rows_left_ -= header.values;
  if (header.values <= skip_) {
    skip_ -= header.values;
    return absl::OkStatus();
  }
  CAPSTAN_RETURN_IF_ERROR(LoadPage(header));
  page_rows_ = header.values;
  return absl::OkStatus();
}

absl::StatusOr<PageHeader> ColumnReader::ReadHeader() {
  if (at_ >= chunk_.end) return Damaged("it has fewer values than its row group has rows");
  const size_t most = std::min<uint64_t>(kMostHeader, chunk_.end - at_);
  PageHeader header;
  for (size_t size = std::min(kLikelyHeader, most);; size = std::min(size * 8, most)) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, file_.Peek(at_, size));
    const Parsed parsed = ParsePageHeader(bytes, header);
    if (parsed == Parsed::kYes) return header;
    if (parsed == Parsed::kMalformed || size == most || bytes.size() < size) {
      return Damaged("no header of a page is here");
    }
  }
}

absl::Status ColumnReader::LoadPage(const PageHeader& header) {
  switch (static_cast<PageKind>(header.kind)) {
    case PageKind::kIndex:
      return absl::OkStatus();
    case PageKind::kDictionary:
      return LoadDictionary(header);
    case PageKind::kData:
      return LoadData(header);
    case PageKind::kDataV2:
      return LoadDataV2(header);
    default:
      return Unsupported(absl::StrCat("has a page of kind ", header.kind));
  }
}

// Reads the body of the page, behind its header, into stored_.
absl::Status ColumnReader::ReadBody(const PageHeader& header) {
  CAPSTAN_RETURN_IF_ERROR(file_.Read(body_, header.stored_bytes, stored_));
  if (!header.crc || PageCrc(ViewOf(stored_)) == *header.crc) return absl::OkStatus();
  return Damaged("the checksum of a page is another");
}

absl::Status ColumnReader::LoadDictionary(const PageHeader& header) {
  if (has_dictionary_) return Damaged("it has two dictionaries");
  CAPSTAN_RETURN_IF_ERROR(ReadBody(header));
  const absl::Status status =
      Decompress(chunk_.codec, ViewOf(stored_), header.bytes, dictionary_bytes_);
  if (!status.ok()) return Damaged(status.message());
  const bool plain = header.encoding == static_cast<int64_t>(Encoding::kPlain) ||
                     header.encoding == static_cast<int64_t>(Encoding::kPlainDictionary);
  if (!plain)
    return Unsupported(absl::StrCat("has a dictionary in ", EncodingName(header.encoding)));
  if (column_.physical == Physical::kBoolean) return Unsupported("has a dictionary of booleans");
  const auto decoder = NewPlainDecoder(column_, ViewOf(dictionary_bytes_));
  if (!decoder->Read(header.values, dictionary_)) return Damaged("its dictionary ends early");
  has_dictionary_ = true;
  return absl::OkStatus();
}

absl::Status ColumnReader::LoadData(const PageHeader& header) {
  constexpr int64_t kRle = 3;
  CAPSTAN_RETURN_IF_ERROR(ReadBody(header));
  const absl::Status status = Decompress(chunk_.codec, ViewOf(stored_), header.bytes, bytes_);
  if (!status.ok()) return Damaged(status.message());
  std::string_view bytes = ViewOf(bytes_);
  has_levels_ = column_.optional;
  if ((has_levels_ || column_.list) && header.level_encoding != kRle) {
    return Unsupported(absl::StrCat("has nulls in ", EncodingName(header.level_encoding)));
  }
  std::string_view repetition, definition;
  if (column_.list && !TakeLevels(bytes, repetition)) return Damaged("a page ends early");
  const bool defined = has_levels_ || column_.list;
  if (defined && !TakeLevels(bytes, definition)) return Damaged("a page ends early");
  levels_ = HybridDecoder(definition, /*bit_width=*/1);
  if (column_.list) CAPSTAN_RETURN_IF_ERROR(LoadLevels(repetition, definition, header.values));
  return BeginValues(header.encoding, bytes);
}

// A page that does not begin with a row continues the row of the previous page.
absl::Status ColumnReader::LoadLevels(std::string_view repetition, std::string_view definition,
                                      uint64_t count) {
  if (count > kMostEntries) {
    return absl::InvalidArgumentError(absl::StrCat(Where(), "the page at byte ", page_, ": has ",
                                                   count, " entries of lists; expected at most ",
                                                   kMostEntries,
                                                   ", as a page with them is held in memory"));
  }
  repetition_.resize(count);
  definition_.resize(count);
  entry_ = 0;
  const auto width = static_cast<uint32_t>(std::bit_width(column_.most_definition));
  if (!HybridDecoder(repetition, /*bit_width=*/1).Read(repetition_) ||
      !HybridDecoder(definition, width).Read(definition_)) {
    return Damaged("the levels of a page end early");
  }
  const bool known = std::all_of(definition_.begin(), definition_.end(), [this](uint32_t level) {
    return level <= column_.most_definition;
  });
  return known ? absl::OkStatus() : Damaged("a page has levels that its schema does not have");
}

absl::Status ColumnReader::LoadDataV2(const PageHeader& header) {
  CAPSTAN_RETURN_IF_ERROR(ReadBody(header));
  const uint64_t levels = header.repetition_bytes + header.level_bytes;
  if (levels > stored_.size() || levels > header.bytes) return Damaged("a page ends early");
  const std::string_view packed = ViewOf(stored_).substr(levels);
  const uint64_t size = header.bytes - levels;
  const bool compressed = header.compressed && !packed.empty();
  const absl::Status status = Decompress(
      compressed ? chunk_.codec : static_cast<int64_t>(Codec::kNone), packed, size, bytes_);
  if (!status.ok()) return Damaged(status.message());
  has_levels_ = column_.optional;
  const std::string_view repetition = ViewOf(stored_).substr(0, header.repetition_bytes);
  const std::string_view definition =
      ViewOf(stored_).substr(header.repetition_bytes, header.level_bytes);
  levels_ = HybridDecoder(definition, /*bit_width=*/1);
  if (column_.list) CAPSTAN_RETURN_IF_ERROR(LoadLevels(repetition, definition, header.values));
  return BeginValues(header.encoding, ViewOf(bytes_));
}

absl::Status ColumnReader::BeginValues(int64_t encoding, std::string_view bytes) {
  values_.reset();
  if (!IsDictionary(encoding)) {
    values_ = NewValueDecoder(encoding, column_, bytes);
    if (values_ != nullptr) return absl::OkStatus();
    return Unsupported(absl::StrCat("has ", AbslView(PhysicalName(column_.physical)), " values in ",
                                    EncodingName(encoding)));
  }
  if (!has_dictionary_) return Damaged("it lacks its dictionary");
  // A page without values need not have a bit width.
  const uint32_t width = bytes.empty() ? 0 : static_cast<uint8_t>(bytes.front());
  if (width > kMostPlaceBits) return Damaged("places in its dictionary have too many bits");
  places_ = HybridDecoder(bytes.empty() ? bytes : bytes.substr(1), width);
  return absl::OkStatus();
}

absl::Status ColumnReader::DecodeRows(size_t rows) {
  cells_.present.assign(rows, 1);
  if (has_levels_ && !levels_.Read(cells_.present)) return Damaged("the nulls of a page end early");
  CAPSTAN_RETURN_IF_ERROR(DecodeValues());
  page_rows_ -= rows;
  return absl::OkStatus();
}

// Decodes the values of the cells that are present.
absl::Status ColumnReader::DecodeValues() {
  const auto& present = cells_.present;
  const size_t count = std::accumulate(present.begin(), present.end(), size_t{0});
  cells_.values.clear();
  cells_.places.clear();
  cells_.dictionary = values_ == nullptr ? &dictionary_ : nullptr;
  if (values_ == nullptr) CAPSTAN_RETURN_IF_ERROR(DecodePlaces(count));
  if (values_ != nullptr && !values_->Read(count, cells_.values)) {
    return Damaged("the values of a page are malformed, or end early");
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ColumnReader::SkipPages(uint64_t rows) {
  uint64_t begun = 0;
  while (rows_left_ > 0) {
    CAPSTAN_RETURN_IF_ERROR(NextPage());
    const auto here = static_cast<uint64_t>(
        std::count(repetition_.begin() + static_cast<ptrdiff_t>(entry_), repetition_.end(), 0u));
    if (begun + here > rows) break;
    begun += here;
    entry_ = repetition_.size();
  }
  return begun;
}

absl::StatusOr<const Cells*> ColumnReader::NextEntries() {
  while (entry_ == definition_.size() && rows_left_ > 0) CAPSTAN_RETURN_IF_ERROR(NextPage());
  const size_t count = std::min(kMostRows, definition_.size() - entry_);
  cells_.begins.resize(count);
  cells_.present.resize(count);
  for (size_t i = 0; i < count; ++i) {
    cells_.begins[i] = repetition_[entry_ + i] == 0 ? 1 : 0;
    cells_.present[i] = definition_[entry_ + i] == column_.most_definition ? 1 : 0;
  }
  if (count > 0) CAPSTAN_RETURN_IF_ERROR(DecodeValues());
  entry_ += count;
  return &cells_;
}

absl::Status ColumnReader::DecodePlaces(size_t count) {
  cells_.places.resize(count);
  if (!places_.Read(cells_.places)) return Damaged("places in its dictionary end early");
  const size_t size = dictionary_.size();
  const bool inside = std::all_of(cells_.places.begin(), cells_.places.end(),
                                  [size](uint32_t place) { return place < size; });
  return inside ? absl::OkStatus() : Damaged("its dictionary is smaller than its places");
}

std::string ColumnReader::Where() const {
  return absl::StrCat(file_.path(), ": column ", Quote(column_.name), ": ");
}

absl::Status ColumnReader::Damaged(absl::string_view what) const {
  return absl::DataLossError(absl::StrCat(Where(), "the page at byte ", page_, ": ", what));
}

absl::Status ColumnReader::Unsupported(absl::string_view what) const {
  constexpr char kSupported[] =
      "; supported are data pages and dictionaries in PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, RLE "
      "(booleans and nulls), DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY and "
      "BYTE_STREAM_SPLIT";
  return absl::InvalidArgumentError(absl::StrCat(Where(), what, kSupported));
}

}  // namespace capstan::parquet
