// Collects the mistakes found in one job file, and where each key is.
#ifndef CAPSTAN_CONFIG_FINDINGS_H_
#define CAPSTAN_CONFIG_FINDINGS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "capstan/config/job_key.h"

namespace capstan {

// Thread-compatible.
class Findings {
 public:
  // kRead: reads a job. kListKeys: lists all keys, for which every list is assumed to have an item.
  enum class Purpose { kRead, kListKeys };

  // `name` is used as the place of keys that are not in the file.
  explicit Findings(std::string name, Purpose purpose = Purpose::kRead)
      : name_(std::move(name)), purpose_(purpose) {}

  // Adds the mistake "<place>: <path>: <what>". Refuse uses the place of the key, or of the
  // innermost section around it that is in the file.
  void Refuse(const std::string& path, absl::string_view what);
  void RefuseAt(const std::string& place, const std::string& path, absl::string_view what);

  // Returns OK if there are no mistakes. Otherwise returns INVALID_ARGUMENT with a line for each
  // mistake, in the order in which they were added, at most kMaxShown.
  absl::Status status() const;

  // Records where a key is. Returns false if a place was recorded for it before.
  bool Place(const std::string& path, const std::string& place);
  bool Has(const std::string& path) const { return places_.contains(path); }

  // Records that a key is read, whether it is present or not, and its description. If a key is
  // described several times, the first one counts. Only for kListKeys; the key of a list's item is
  // "model.towers[].kind".
  void Ask(std::string path);
  void Describe(JobKey key);
  // Replaces part of the description of a key that has been described.
  void SetValues(const std::string& path, absl::string_view values);
  void SetDefault(const std::string& path, absl::string_view default_value);
  // The described keys by their names.
  const std::map<std::string, JobKey>& keys() const { return keys_; }

  Purpose purpose() const { return purpose_; }

 private:
  static constexpr size_t kMaxShown = 20;

  const std::string name_;
  const Purpose purpose_;
  std::vector<std::string> refusals_;
  std::map<std::string, std::string> places_;
  std::map<std::string, JobKey> keys_;
};

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_FINDINGS_H_
