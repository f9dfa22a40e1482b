// The sections of job.yaml, one reader each: from the file's keys to the message of job.proto, with
// every default filled in. Mistakes are noted in the section's findings.
#ifndef CAPSTAN_CONFIG_SECTIONS_H_
#define CAPSTAN_CONFIG_SECTIONS_H_

#include "capstan/config/section.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

void ReadData(Section& in, v1::DataSpec& out);
void ReadModel(Section& in, v1::ModelSpec& out);
// `fallback`: the limits of a table that does not say.
void ReadTable(Section& in, const v1::TableLimits& fallback, v1::TableLimits& out);
// data.features; `names`: the files name their columns.
void ReadFeatures(Section in, bool names, v1::DataSpec& data);
// data.negatives. REQUIRES: the features are read.
void ReadNegatives(Section in, v1::DataSpec& data);
// The tables of these features. REQUIRES: the features, and what holds for all tables, are read.
void ReadTables(Section in, v1::JobSpec& spec);
void ReadTrain(Section& in, bool program, v1::TrainSpec& out);
void ReadCheckpoint(Section& in, v1::CheckpointSpec& out);

// `fallback`: the kind of an optimizer that does not say.
void ReadOptimizer(Section& in, v1::OptimizerKind fallback, v1::OptimizerSpec& out);

// optimizer.dense, with its groups.
void ReadDenseOptimizer(Section& in, v1::JobSpec& spec);

// `default_lanes`: of a synchronous policy that does not say; 0: it must.
void ReadUpdatePolicy(Section& in, uint32_t default_lanes, v1::UpdatePolicy& out);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_SECTIONS_H_
