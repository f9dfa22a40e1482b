#define CAPSTAN_KERNELS_EIGEN EigenAvx512
#define CAPSTAN_KERNELS_TABLE kAvx512
#define CAPSTAN_KERNELS_NAME "avx512"
#include "capstan/model/kernels/kernels.inc"
