// What has been found in one job file: the mistakes, and where each key stands.
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

  // `name`: the place of what is not in the file.
  explicit Findings(std::string name, Purpose purpose = Purpose::kRead)
      : name_(std::move(name)), purpose_(purpose) {}

  // Notes "<place>: <path>: <what>". Without a place: that of the key, or of the nearest section
  // around.
  void Refuse(const std::string& path, absl::string_view what);
  void RefuseAt(const std::string& place, const std::string& path, absl::string_view what);

  // INVALID_ARGUMENT with a line a mistake, in order of finding, at most kMaxShown of them.
  absl::Status status() const;

  // Notes where a key stands; false if it stood somewhere before.
  bool Place(const std::string& path, const std::string& place);
  bool Has(const std::string& path) const { return places_.contains(path); }

  // Notes that a key was asked for, present or not, and how it is read: of several ways, the first.
  // kListKeys only, where the key of a list's item is "model.towers[].kind".
  void Ask(std::string path);
  void Describe(JobKey key);
  // Notes that this key, which has been described, is required: it has no default.
  void Require(const std::string& path);
  // These keys by their names.
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
