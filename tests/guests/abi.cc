/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our prototypes of the driver's functions against those of cuda.h: as many parameters, each as
 * large. C++, since C cannot take a function's type apart. The lines CHECK(symbol, (parameters))
 * come from hooks.def, by shim-abi.sh.
 */
#define __CUDA_API_VERSION_INTERNAL /* the names of all versions, each its own */
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/abi.h"

template <typename Ours, typename Theirs> struct same;

template <typename... Ours, typename... Theirs>
struct same<int(Ours...), CUresult(Theirs...)> {
	static constexpr bool count = sizeof...(Ours) == sizeof...(Theirs);

	static constexpr bool sizes()
	{
		const size_t ours[] = {0, sizeof(Ours)...}, theirs[] = {0, sizeof(Theirs)...};

		for (size_t i = 0; count && i <= sizeof...(Ours); i++)
			if (ours[i] != theirs[i])
				return false;
		return true;
	}
};

#define CHECK(symbol, parameters)                                                                  \
	static_assert(same<int parameters, decltype(symbol)>::count, #symbol ": parameters");      \
	static_assert(same<int parameters, decltype(symbol)>::sizes(), #symbol ": their sizes");

#include CHECKS
