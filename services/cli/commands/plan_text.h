// Formats a plan for people and for programs. Pure functions.
#ifndef CAPSTAN_CLI_COMMANDS_PLAN_TEXT_H_
#define CAPSTAN_CLI_COMMANDS_PLAN_TEXT_H_

#include <string>
#include <vector>

#include "capstan/plan/plan.h"
#include "capstan/plan/rates.h"
#include "capstan/plan/scale.h"
#include "capstan/v1/job.pb.h"

namespace capstan::cli {

struct PlannedJob {
  v1::JobSpec job;
  DataFacts facts;
  Scale scale;
  Rates rates;
  Plan plan;
};

std::vector<std::string> PlanLines(const PlannedJob& planned);

// Returns one JSON object in one line; the names of its fields tell the units. `does_not_fit` is
// empty if the job can run; a number that is not finite is null.
std::string PlanJson(const PlannedJob& planned);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_PLAN_TEXT_H_
