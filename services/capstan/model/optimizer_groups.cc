#include "capstan/model/optimizer_groups.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan {
namespace {

constexpr size_t kShownNames = 20;

bool Matches(const v1::OptimizerGroup& group, std::string_view name) {
  return std::any_of(group.match().begin(), group.match().end(),
                     [name](const std::string& pattern) { return MatchesName(pattern, name); });
}

// Returns the index of the first group that matches the name, or the number of groups if none does.
int GroupOf(const v1::JobSpec& spec, std::string_view name) {
  int place = 0;
  while (place < spec.dense_groups_size() && !Matches(spec.dense_groups(place), name)) ++place;
  return place;
}

absl::Status WithoutTensors(const v1::JobSpec& spec, int place,
                            const std::vector<std::string>& trained) {
  const v1::OptimizerGroup& group = spec.dense_groups(place);
  const auto named = std::find_if(trained.begin(), trained.end(),
                                  [&](const std::string& name) { return Matches(group, name); });
  const std::string which = absl::StrCat("optimizer.dense.groups[", place, "]: ");
  if (named != trained.end()) {
    return absl::InvalidArgumentError(absl::StrCat(which, "each tensor that it matches, such as ",
                                                   *named, ", is of a group before it"));
  }
  const size_t shown = std::min(trained.size(), kShownNames);
  return absl::InvalidArgumentError(absl::StrCat(
      which, "no tensor that is trained is named ", absl::StrJoin(group.match(), " or "),
      "; there are ",
      absl::StrJoin(trained.begin(), trained.begin() + static_cast<ptrdiff_t>(shown), ", "),
      shown < trained.size() ? " and more"
      : shown == 0           ? "none"
                             : ""));
}

}  // namespace

bool MatchesName(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // For a piece of text between two stars the first occurrence is as good as any later one.
  for (size_t next = pattern.find('*'); next != pattern.npos; next = pattern.find('*')) {
    const size_t at = name.find(pattern.substr(0, next));
    if (at == name.npos) return false;
    name.remove_prefix(at + next);
    pattern.remove_prefix(next + 1);
  }
  return name.ends_with(pattern);
}

const v1::OptimizerSpec& OptimizerOfTensor(const v1::JobSpec& spec, std::string_view name) {
  const int place = GroupOf(spec, name);
  return place == spec.dense_groups_size() ? spec.dense_optimizer()
                                           : spec.dense_groups(place).optimizer();
}

absl::Status CheckGroups(const v1::JobSpec& spec, const std::vector<std::string>& trained) {
  std::set<int> used;
  for (const std::string& name : trained) used.insert(GroupOf(spec, name));
  for (int place = 0; place < spec.dense_groups_size(); ++place) {
    if (!used.contains(place)) return WithoutTensors(spec, place, trained);
  }
  return absl::OkStatus();
}

}  // namespace capstan
