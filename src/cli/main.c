/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

int main(void)
{
	fprintf(stderr, "coldprof: no command\n");
	return 125;
}
