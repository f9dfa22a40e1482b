// The range, the choices and the kind that are declared of a key are those that its reader
// enforces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "capstan/config/config.h"
#include "capstan/config/declared_keys.h"
#include "capstan/config/key_values.h"

namespace capstan {
namespace {

constexpr char kGoodJob[] =
    "job: small\n"
    "data: {format: csv, train: a, schema: {categorical: 1}}\n"
    "model: {preset: lr}\n";

// A value at or beyond an end of a range, as a job writes it.
struct EdgeValue {
  std::string text;
  bool within = false;
};

std::vector<EdgeValue> EdgesOf(const WholeRange& range) {
  std::vector<EdgeValue> edges = {{absl::StrCat(range.min), true}};
  if (range.min > 0) edges.push_back({absl::StrCat(range.min - 1), false});
  if (range.max == UINT64_MAX) return edges;
  edges.push_back({absl::StrCat(range.max), true});
  edges.push_back({absl::StrCat(range.max + 1), false});
  return edges;
}

// `text` writes a number, to a thousandth.
std::vector<EdgeValue> EdgesOf(const NumberRange& range, std::string (*text)(double)) {
  constexpr double kStep = 0.001;
  std::vector<EdgeValue> edges;
  if (range.min > -NumberRange::kNoEnd) {
    edges.push_back({text(range.min - kStep), false});
    edges.push_back({text(range.min), !range.open});
    edges.push_back({text(range.min + kStep), true});
  }
  if (range.max < NumberRange::kNoEnd) {
    edges.push_back({text(range.max), true});
    edges.push_back({text(range.max + kStep), false});
  }
  return edges;
}

std::string Thousandths(double number) { return absl::StrFormat("%.3f", number); }
std::string Milliseconds(double seconds) { return absl::StrFormat("%.0fms", seconds * 1000); }

std::vector<EdgeValue> EdgesOf(const ChoiceKey& key) {
  std::vector<EdgeValue> edges = {{"none_of_them", false}};
  for (const KeyChoice& choice : key.among) edges.push_back({std::string(choice.name), true});
  return edges;
}

std::vector<EdgeValue> EdgesOf(const KeyValues& values) {
  if (const auto* const key = std::get_if<WholeKey>(&values)) return EdgesOf(key->in);
  if (const auto* const key = std::get_if<WholesKey>(&values)) return EdgesOf(key->in);
  if (const auto* const key = std::get_if<BytesKey>(&values)) {
    return EdgesOf(WholeRange{.min = key->min});
  }
  if (const auto* const key = std::get_if<SecondsKey>(&values)) {
    return EdgesOf(key->in, Milliseconds);
  }
  if (const auto* const key = std::get_if<NumberKey>(&values)) {
    return EdgesOf(key->in, Thousandths);
  }
  if (const auto* const key = std::get_if<ChoiceKey>(&values)) return EdgesOf(*key);
  if (std::holds_alternative<FlagKey>(values)) return {{"true", true}, {"yes", false}};
  return {};
}

// The keys of jobs that are declared as `key`: with a name, for both parts.
std::vector<std::string> KeysOfJobs(const std::string& key) {
  const std::string named = absl::StrReplaceAll(key, {{"<name>", "any"}});
  if (!absl::StrContains(named, "<part>")) return {named};
  return {absl::StrReplaceAll(named, {{"<part>", "dense"}}),
          absl::StrReplaceAll(named, {{"<part>", "sparse"}})};
}

// What --set is given. The item of a list is set as the list of one map.
std::string OverrideOf(const std::string& key, const std::string& value) {
  const size_t list = key.find("[].");
  if (list == key.npos) return absl::StrCat(key, "=", value);
  return absl::StrCat(key.substr(0, list), "={", key.substr(list + 3), ": ", value, "}");
}

// Whether a job is refused for this value. It may be refused for what the value means elsewhere.
bool IsRefusedAt(const std::string& key, const std::string& value) {
  const absl::StatusOr<v1::JobSpec> job =
      ParseJob({.text = kGoodJob}, {.overrides = {OverrideOf(key, value)}});
  const std::string path = absl::StrReplaceAll(key, {{"[]", "[0]"}});
  return absl::StrContains(job.status().message(), absl::StrCat(path, ": \"", value, "\" is not "));
}

TEST(DeclaredRangesTest, AReaderTakesWhatIsInTheDeclaredRangeAndRefusesWhatIsJustOutside) {
  size_t tried = 0;
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) {
      for (const EdgeValue& edge : EdgesOf(declared.values)) {
        for (const std::string& key : KeysOfJobs(std::string(declared.key))) {
          EXPECT_EQ(IsRefusedAt(key, edge.text), !edge.within) << key << ": " << edge.text;
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 200u);
}

TEST(DeclaredRangesTest, ADeclaredDefaultIsAValueThatAJobMayWrite) {
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) {
      if (const auto* const key = std::get_if<WholeKey>(&declared.values)) {
        EXPECT_TRUE(!key->by_default || key->in.Has(*key->by_default)) << declared.key;
      }
      if (const auto* const key = std::get_if<BytesKey>(&declared.values)) {
        EXPECT_TRUE(!key->by_default || *key->by_default >= key->min) << declared.key;
      }
      if (const auto* const key = std::get_if<SecondsKey>(&declared.values)) {
        EXPECT_TRUE(!key->by_default || key->in.Has(*key->by_default)) << declared.key;
      }
      if (const auto* const key = std::get_if<NumberKey>(&declared.values)) {
        EXPECT_TRUE(!key->by_default || key->in.Has(*key->by_default)) << declared.key;
      }
      if (const auto* const key = std::get_if<ChoiceKey>(&declared.values)) {
        const bool any = std::any_of(key->among.begin(), key->among.end(), [&](const auto& choice) {
          return choice.name == key->by_default;
        });
        EXPECT_TRUE(any || key->by_default.empty()) << declared.key;
      }
    }
  }
}

TEST(DeclaredRangesTest, ARequiredKeyHasNoDefault) {
  for (const JobKey& key : JobKeys()) {
    EXPECT_TRUE(!key.required || key.default_value.empty()) << key.key;
  }
}

}  // namespace
}  // namespace capstan
