// Collects what is found in one job file: the mistakes, and where each key stands.
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
  enum class Purpose { kRead, kListKeys };  // kListKeys: every list is taken to have an item.

  // `name` is the place of keys that are not in the file.
  explicit Findings(std::string name, Purpose purpose = Purpose::kRead)
      : name_(std::move(name)), purpose_(purpose) {}

  // Notes the mistake "<place>: <path>: <what>". Refuse takes the place of the key, or of the
  // nearest section around it.
  void Refuse(const std::string& path, absl::string_view what);
  void RefuseAt(const std::string& place, const std::string& path, absl::string_view what);

  // Returns OK if there are no mistakes. Otherwise INVALID_ARGUMENT with a line for each mistake,
  // in the order of finding, at most kMaxShown.
  absl::Status status() const;

  // Notes where a key stands. Returns false if a place was noted for it before.
  bool Place(const std::string& path, const std::string& place);
  bool Has(const std::string& path) const { return places_.contains(path); }

  // Notes that a key is read, whether it is present or not, and how. If it is read in several ways,
  // the first counts. For kListKeys only; the key of a list's item is "model.towers[].kind".
  void Ask(std::string path);
  void Describe(JobKey key);
  // Replaces what is told of a key that has been described.
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
