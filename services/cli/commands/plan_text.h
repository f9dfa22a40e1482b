// A plan as people and programs read it. Pure functions.
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

// One object in one line; bytes and seconds are in the names. `does_not_fit` is empty where the job
// can run so.
std::string PlanJson(const PlannedJob& planned);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_COMMANDS_PLAN_TEXT_H_
