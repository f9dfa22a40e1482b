#include "tests/simulation/explorer.h"

#include <algorithm>
#include <ostream>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/hash.h"

namespace capstan::simulation {
namespace {

constexpr int kCalmSteps = 5000;      // More, and the job runs in circles;
constexpr int kStepsToTheEnd = 2000;  // for a ChiefWorld.

bool IsProgress(const Step& step) { return step.is_progress(); }

class DepthFirst {
 public:
  explicit DepthFirst(const ExploreOptions& options) : options_(options) {}

  Verdict Run(const SmallWorld& world) {
    Visit(world, options_.depth);
    verdict_.states = seen_.size();
    std::reverse(verdict_.trace.begin(), verdict_.trace.end());
    return std::move(verdict_);
  }

 private:
  // False: a rule is broken; the trace is being told backwards.
  bool Visit(const SmallWorld& world, int depth) {
    if (!world.violation().empty()) return Break(world.violation());
    const auto [seen, is_new] = seen_.try_emplace(absl::HashOf(world.Text()), depth);
    if (!is_new) {
      // As long as nothing was cut off, all that a state leads to is seen already, or is about to
      // be by those who are on their way: a shorter way to it leads no further.
      if (verdict_.complete || seen->second >= depth) return true;
      seen->second = depth;
    }
    const std::vector<Step> steps = world.Enabled();
    if (!world.done() && std::none_of(steps.begin(), steps.end(), IsProgress)) {
      return Break("NeverStuck: nothing can happen any more, and the job is not done");
    }
    if (depth == 0 || seen_.size() >= options_.most_states) {
      verdict_.complete = verdict_.complete && steps.empty();
      return true;
    }
    for (const Step& step : steps) {
      SmallWorld next = world;
      next.Take(step);
      if (Visit(next, depth - 1)) continue;
      verdict_.trace.push_back(world.Describe(step));
      return false;
    }
    return true;
  }

  bool Break(const std::string& violation) {
    verdict_.violation = violation;
    verdict_.complete = false;
    return false;
  }

  ExploreOptions options_;
  Verdict verdict_;
  absl::flat_hash_map<size_t, int> seen_;  // Steps that were left when the state was last visited.
};

class Deviations {
 public:
  explicit Deviations(const DeviationOptions& options) : options_(options) {}

  Verdict Run(ChiefWorld world) {
    Follow(world, options_.deviations);
    verdict_.states = seen_.size();
    std::reverse(verdict_.trace.begin(), verdict_.trace.end());
    return std::move(verdict_);
  }

 private:
  // Follows the job to its end, or to a state from which it was followed before with at least as
  // many deviations. False: a rule is broken; the trace is being told backwards.
  bool Follow(ChiefWorld& world, int left) {
    std::vector<std::string> steps;
    absl::flat_hash_set<uint64_t> passed;
    for (int i = 0; i < kStepsToTheEnd; ++i) {
      if (!world.violation().empty()) return Break(world.violation(), steps);
      if (world.done()) return true;
      const uint64_t line = HashText(world.Text());
      if (passed.insert(line).second) {
        int& seen_with = seen_.try_emplace(line, -1).first->second;
        if (seen_with >= left) return true;
        seen_with = left;
        if (left > 0 && !Deviate(world, line, left, steps)) return false;
      }
      const Move move = world.Calm();
      steps.push_back(world.Describe(move));
      world.Take(move);
    }
    return Break("NeverStuck: the job runs in circles", steps);
  }

  bool Deviate(const ChiefWorld& world, uint64_t line, int left,
               const std::vector<std::string>& steps) {
    const std::vector<Move> moves = world.Others();
    for (size_t i = 0; i < moves.size(); ++i) {
      const Move& move = moves[i];
      const bool later = left < options_.deviations;
      if (later && Draw(line, 0, i) % options_.share != 0) continue;
      if (seen_.size() >= options_.most_states) {
        verdict_.complete = false;
        return true;
      }
      ChiefWorld other = world;
      other.Take(move);
      if (Follow(other, left - 1)) continue;
      verdict_.trace.push_back(world.Describe(move));
      Tell(steps);
      return false;
    }
    return true;
  }

  bool Break(const std::string& violation, const std::vector<std::string>& steps) {
    verdict_.violation = violation;
    verdict_.complete = false;
    Tell(steps);
    return false;
  }

  void Tell(const std::vector<std::string>& steps) {
    verdict_.trace.insert(verdict_.trace.end(), steps.rbegin(), steps.rend());
  }

  DeviationOptions options_;
  Verdict verdict_;
  absl::flat_hash_map<uint64_t, int> seen_;  // Deviations that were left when it was last followed.
};

// Takes one step, and notes it. False: a rule is broken.
bool Take(SmallWorld& world, const Step& step, Verdict& verdict) {
  verdict.trace.push_back(world.Describe(step));
  world.Take(step);
  ++verdict.states;
  verdict.violation = world.violation();
  return verdict.violation.empty();
}

// Brings the job to its end without faults. False: a rule is broken.
bool End(SmallWorld& world, Verdict& verdict) {
  for (int i = 0; i < kCalmSteps && !world.done(); ++i) {
    const std::vector<Step> steps = world.Enabled();
    const auto step = std::find_if(steps.begin(), steps.end(), IsProgress);
    if (step == steps.end()) {
      verdict.violation = "NeverStuck: nothing can happen any more, and the job is not done";
      return false;
    }
    if (!Take(world, *step, verdict)) return false;
  }
  if (!world.done()) verdict.violation = "NeverStuck: the job runs in circles";
  return verdict.violation.empty();
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  out << (verdict.violation.empty() ? "ok" : verdict.violation) << ", " << verdict.states
      << " states" << (verdict.complete ? "" : ", incomplete");
  if (verdict.violation.empty()) return out;
  for (const std::string& step : verdict.trace) out << "\n  " << step;
  return out;
}

Verdict Explore(const SmallWorldOptions& world, const ExploreOptions& options) {
  return DepthFirst(options).Run(SmallWorld(world));
}

Verdict Explore(const ChiefWorldOptions& world, const DeviationOptions& options) {
  return Deviations(options).Run(ChiefWorld(world));
}

Verdict Walk(const SmallWorldOptions& options, uint64_t first_seed, int walks, int depth) {
  Verdict all;
  for (int i = 0; i < walks; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    Verdict verdict;
    SmallWorld world(options);
    bool whole = true;
    for (int n = 0; whole && n < depth && !world.done(); ++n) {
      std::vector<Step> steps = world.Enabled();
      // Faults have budgets: they are to be spent all along the walk, not in its first steps.
      if (Draw(seed, 1, static_cast<uint64_t>(n)) % 8 != 0) {
        std::erase_if(steps, [](const Step& step) { return step.kind > Step::Kind::kStray; });
      }
      if (steps.empty()) continue;
      whole = Take(world, steps[Draw(seed, 0, static_cast<uint64_t>(n)) % steps.size()], verdict);
    }
    whole = whole && End(world, verdict);
    all.states += verdict.states;
    if (whole) continue;
    all.violation = absl::StrCat(verdict.violation, " (seed ", seed, ")");
    all.trace = std::move(verdict.trace);
    return all;
  }
  return all;
}

Verdict Calm(const SmallWorldOptions& options) {
  Verdict verdict;
  SmallWorld world(options);
  End(world, verdict);
  return verdict;
}

}  // namespace capstan::simulation
