#define CAPSTAN_KERNELS_EIGEN EigenAvx2
#define CAPSTAN_KERNELS_TABLE kAvx2
#define CAPSTAN_KERNELS_NAME "avx2"
#include "capstan/model/kernels/kernels.inc"
