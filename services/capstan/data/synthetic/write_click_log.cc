#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "capstan/data/synthetic/click_log.h"

namespace capstan {
namespace {

constexpr uint64_t kChunkRows = 4096;

constexpr size_t kMostDigits = 10;

std::string ToCsv(const ClickLog::Rows& rows, size_t columns) {
  std::string text(rows.clicks.size() * (2 + columns * (kMostDigits + 1)), '\0');
  char* at = text.data();
  const uint32_t* value = rows.values.data();
  for (uint8_t click : rows.clicks) {
    *at++ = click ? '1' : '0';
    for (size_t c = 0; c < columns; ++c) {
      *at++ = ',';
      at = std::to_chars(at, at + kMostDigits, *value++).ptr;
    }
    *at++ = '\n';
  }
  text.resize(static_cast<size_t>(at - text.data()));
  return text;
}

}  // namespace

absl::StatusOr<Oracle> WriteClickLog(const ClickLog& log, uint64_t first_row, uint64_t rows,
                                     const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot write"));
  absl::Cleanup close = [file] { std::fclose(file); };
  OracleSums sums;
  ClickLog::Rows chunk;
  for (uint64_t done = 0; done < rows; done += kChunkRows) {
    log.Generate(first_row + done, std::min(kChunkRows, rows - done), chunk);
    const std::string text = ToCsv(chunk, log.columns());
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) {
      return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot write"));
    }
    for (size_t r = 0; r < chunk.clicks.size(); ++r) sums.Add(chunk.logits[r], chunk.clicks[r]);
  }
  std::move(close).Cancel();
  if (std::fclose(file) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot write"));
  }
  return std::move(sums).Finish();
}

Oracle BestPossible(const ClickLog& log, uint64_t first_row, uint64_t rows) {
  OracleSums sums;
  ClickLog::Rows chunk;
  for (uint64_t done = 0; done < rows; done += kChunkRows) {
    log.Generate(first_row + done, std::min(kChunkRows, rows - done), chunk);
    for (size_t r = 0; r < chunk.clicks.size(); ++r) sums.Add(chunk.logits[r], chunk.clicks[r]);
  }
  return std::move(sums).Finish();
}

}  // namespace capstan
