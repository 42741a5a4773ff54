/* SPDX-License-Identifier: Apache-2.0 */
/* The DT_NEEDED route: a module linked with libcuda, as Triton's launchers are. */
#include "../fakecuda/fakecuda.h"

#define X(field, base, version, symbol, args) CUresult symbol args;
CUDA_ENTRIES(X)
#undef X

void route_elf(struct cuda_api *api);

__attribute__((visibility("default"))) void route_elf(struct cuda_api *api)
{
#define X(field, base, version, symbol, args) api->field = symbol;
	CUDA_ENTRIES(X)
#undef X
}
