// The job, as far as a program of the user's is given it to build its model.
#ifndef CAPSTAN_WORKER_SHELL_JOB_FACTS_H_
#define CAPSTAN_WORKER_SHELL_JOB_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capstan/v1/job.pb.h"

namespace capstan::worker {

// One of data.features: a table, and how its rows become one.
struct Feature {
  std::string name;
  size_t table;
  bool many;
  uint32_t most;
  std::string pooling;  // "sum", "mean" or "none".
  bool weighted;        // Each key has a weight.
};

// One of several labels.
struct Label {
  std::string name;
  float weight;      // By which its loss is multiplied.
  std::string loss;  // "logistic" or "squared".
};

struct Job {
  explicit Job(const v1::JobSpec& spec);

  std::string name;
  std::string program;
  uint64_t seed;
  uint32_t fields;
  uint32_t numbers;
  std::vector<Feature> features;
  std::vector<std::string> tables;
  std::vector<uint32_t> dims;  // How many floats a row of each table has.
  uint32_t dim;                // That of the first table; 0: there is none.
  uint32_t outputs;
  std::vector<Label> labels;  // Empty: there is one, which has no name.
  std::string loss;
  std::vector<uint32_t> image;  // Height and width; empty: records are no images.
  uint32_t channels;            // Numbers of a pixel; 0: records are no images.
  uint32_t batch_size;
  bool sum_loss;
  uint32_t step_threads;
  bool synchronous;
  bool evaluates;
};

// In what the job `now` differs from the job `given`, by which a program has built its model;
// empty: in nothing that it was given. Whether records are held out may change while the program
// runs, and is not looked at.
std::string JobFactsDifference(const Job& given, const Job& now);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_SHELL_JOB_FACTS_H_
