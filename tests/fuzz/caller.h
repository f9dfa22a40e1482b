// Who sends the messages of an input: the role that a certificate names, through the checks that
// the doors of the processes make.
#ifndef CAPSTAN_TESTS_FUZZ_CALLER_H_
#define CAPSTAN_TESTS_FUZZ_CALLER_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/check.h"
#include "capstan/security/role.h"

namespace capstan {

// At first each message comes from somebody who may send it, as in a job without TLS. Thread-
// compatible.
class Caller {
 public:
  static constexpr char kJob[] = "fuzz";

  // From now on messages come from the holder of a certificate with these names, one a line.
  void Become(std::string_view names) {
    names_.emplace();
    for (const absl::string_view name : absl::StrSplit(AbslView(names), '\n')) {
      names_->emplace_back(name);
    }
  }

  // The names in the caller's certificate; nullopt: as in a job without TLS there are none.
  const std::optional<std::vector<std::string>>& names() const { return names_; }

  // Returns whether the caller may call the method, as every server checks it. Dies unless that is
  // so for exactly these roles.
  bool MayCall(std::string_view method, std::initializer_list<Role> roles) const {
    if (!names_) return true;
    const bool may = capstan::MayCall(*names_, kJob, method);
    CAPSTAN_CHECK(may == IsAnyOf(roles));
    return may;
  }

  // Returns whether the caller may pull and push as a worker does.
  bool MayTrain() const {
    if (!names_) return true;
    const bool may = capstan::MayTrain(*names_, kJob);
    CAPSTAN_CHECK(may == IsAnyOf({Role::kWorker}));
    return may;
  }

  // Returns whether the caller may act for the shard, as the chief checks it.
  bool MayActForShard(uint32_t shard) const {
    if (!names_) return true;
    const bool may = capstan::MayActForShard(*names_, kJob, shard);
    CAPSTAN_CHECK(!may || IsAnyOf({Role::kPs}));
    return may;
  }

 private:
  // Looks for the names that these roles have in certificates of the job.
  bool IsAnyOf(std::initializer_list<Role> roles) const {
    return std::any_of(roles.begin(), roles.end(), [this](Role role) {
      const std::string name = DnsNameOf({role, kJob});
      return std::find(names_->begin(), names_->end(), name) != names_->end();
    });
  }

  std::optional<std::vector<std::string>> names_;
};

}  // namespace capstan

#endif  // CAPSTAN_TESTS_FUZZ_CALLER_H_
