/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked with three libraries in order: 1 asks 2, 2 asks
 * 3, 3 finds nobody: 321. Ten times, for caches that lie.
 */
#include <stdio.h>

int next_sum(void);

int main(void)
{
	for (int i = 0; i < 10; i++)
		printf("%d\n", next_sum());
	return 0;
}
