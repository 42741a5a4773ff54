/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)1 << 20)

static struct {
	int (*fn)(int, char **);
	char **argv;
	int argc, ret;
} call;

static void enter(void)
{
	call.ret = call.fn(call.argc, call.argv);
}

static bool is_small(void)
{
	struct rlimit now;

	return !getrlimit(RLIMIT_STACK, &now) && now.rlim_cur < STACK_BYTES;
}

/* What is below it faults, as below any stack. */
static void *make(void)
{
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, guard + STACK_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	mprotect(at, guard, PROT_NONE);
	return at + guard;
}

int stack_run(int (*main_fn)(int, char **), int argc, char **argv)
{
	static ucontext_t here, there;
	void *stack = is_small() ? make() : NULL;

	call.fn = main_fn;
	call.argc = argc;
	call.argv = argv;
	if (!stack || getcontext(&there)) {
		enter();
		return call.ret;
	}
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, enter, 0);
	if (swapcontext(&here, &there))
		enter();
	return call.ret;
}
