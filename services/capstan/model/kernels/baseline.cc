#define CAPSTAN_KERNELS_EIGEN EigenBaseline
#define CAPSTAN_KERNELS_TABLE kBaseline
#define CAPSTAN_KERNELS_NAME "baseline"
#include "capstan/model/kernels/kernels.inc"
