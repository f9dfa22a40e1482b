// Readers of the sections of job.yaml. Each reads the file's keys into the message of job.proto,
// with every default filled in. Mistakes are added to the section's findings.
#ifndef CAPSTAN_CONFIG_SECTIONS_H_
#define CAPSTAN_CONFIG_SECTIONS_H_

#include "capstan/config/section.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

void ReadData(Section& in, v1::DataSpec& out);
void ReadModel(Section& in, v1::ModelSpec& out);
// Reads the limits of all tables, or of one table, in which limits that are not set become 0.
void ReadTable(Section& in, v1::TableLimits& out);
// Reads data.features. `names`: the files name their columns.
void ReadFeatures(Section in, bool names, v1::DataSpec& data);
// Reads data.negatives. REQUIRES: the features are read.
void ReadNegatives(Section in, v1::DataSpec& data);
// Reads the tables of data.features. REQUIRES: the features, and the settings of all tables, are
// read.
void ReadTables(Section in, v1::JobSpec& spec);
void ReadTrain(Section& in, bool program, v1::TrainSpec& out);
void ReadCheckpoint(Section& in, v1::CheckpointSpec& out);

// `fallback` is the kind of an optimizer that does not name its own.
void ReadOptimizer(Section& in, v1::OptimizerKind fallback, v1::OptimizerSpec& out);

// Reads optimizer.dense, with its groups.
void ReadDenseOptimizer(Section& in, v1::JobSpec& spec);

// `default_lanes`: the lanes of a synchronous policy that does not set them; 0: it must set them.
void ReadUpdatePolicy(Section& in, uint32_t default_lanes, v1::UpdatePolicy& out);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_SECTIONS_H_
