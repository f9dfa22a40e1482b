#include "capstan/plan/rates.h"

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace capstan {
namespace {

constexpr char kApplied[] = "applied_float.";
constexpr char kBatch[] = "batch.";

using Named = std::pair<std::string, double*>;

// Every rate that a file must have.
std::vector<Named> Fixed(Rates& rates) {
  std::vector<Named> all;
  const auto ends = [&all](const char* name, Ends& of) {
    all.emplace_back(absl::StrCat(name, ".worker_seconds"), &of.worker_seconds);
    all.emplace_back(absl::StrCat(name, ".shard_seconds"), &of.shard_seconds);
  };
  ends("pulled_byte", rates.pulled_byte);
  ends("pushed_byte", rates.pushed_byte);
  ends("pulled_row", rates.pulled_row);
  ends("pushed_row", rates.pushed_row);
  ends("call", rates.call);
  all.emplace_back("call_seconds", &rates.call_seconds);
  all.emplace_back("added_float_seconds", &rates.added_float);
  all.emplace_back("applied_float_seconds", &rates.applied_float);
  all.emplace_back("chief_bytes", &rates.chief_bytes);
  all.emplace_back("shard_bytes", &rates.shard_bytes);
  all.emplace_back("worker_bytes", &rates.worker_bytes);
  return all;
}

std::vector<std::pair<const char*, double*>> PartsOf(BatchTime& batch) {
  return {{".compute_seconds", &batch.compute_seconds},
          {".deviation_seconds", &batch.deviation_seconds},
          {".read_seconds", &batch.read_seconds}};
}

// Returns where the value of a name in a file is stored; null if there is no such name.
double* FindOptional(absl::string_view name, Rates& rates) {
  if (absl::ConsumePrefix(&name, kApplied)) return &rates.applied[std::string(name)];
  if (!absl::ConsumePrefix(&name, kBatch)) return nullptr;
  BatchTime unused;
  for (const auto& part : PartsOf(unused)) {
    if (!absl::EndsWith(name, part.first)) continue;
    const std::string job(absl::StripSuffix(name, part.first));
    for (const auto& [suffix, value] : PartsOf(rates.batches[job])) {
      if (suffix == absl::string_view(part.first)) return value;
    }
  }
  return nullptr;
}

}  // namespace

std::string RatesText(const Rates& rates) {
  Rates copy = rates;
  std::string text = absl::StrCat("origin ", copy.origin, "\n");
  const auto add = [&text](absl::string_view name, double value) {
    absl::StrAppend(&text, name, absl::StrFormat(" %.4g\n", value));
  };
  for (const auto& [name, value] : Fixed(copy)) add(name, *value);
  for (const auto& [name, value] : copy.applied) add(absl::StrCat(kApplied, name), value);
  for (auto& [job, batch] : copy.batches) {
    for (const auto& [suffix, value] : PartsOf(batch))
      add(absl::StrCat(kBatch, job, suffix), *value);
  }
  return text;
}

absl::StatusOr<Rates> ParseRates(absl::string_view text) {
  Rates rates;
  std::map<std::string, double*> missing;
  for (const Named& one : Fixed(rates)) missing.insert(one);
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const std::pair<std::string, std::string> cells = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (cells.first == "origin") {
      rates.origin = cells.second;
      continue;
    }
    const auto fixed = missing.find(cells.first);
    double* const to = fixed != missing.end() ? fixed->second : FindOptional(cells.first, rates);
    double value = 0;
    if (to == nullptr || !absl::SimpleAtod(cells.second, &value) || !std::isfinite(value) ||
        value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(number, ": \"", line, "\" is not a rate that is known and a number >= 0"));
    }
    *to = value;
    if (fixed != missing.end()) missing.erase(fixed);
  }
  if (missing.empty()) return rates;
  return absl::InvalidArgumentError(absl::StrCat("has no ", missing.begin()->first));
}

}  // namespace capstan
