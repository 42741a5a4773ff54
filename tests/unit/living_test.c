/* SPDX-License-Identifier: Apache-2.0 */
/* An orphan that has no more of its run than its pid and when it began. */
#include "launch/tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

static size_t living(pid_t root, pid_t orphan, const uint64_t *start_ns)
{
	const pid_t known[] = {orphan, 0};
	const struct tree_options opt = {.root = root, .known = known, .known_start_ns = start_ns};
	member_list list = {0};
	size_t n;

	if (tree_living(&opt, &list))
		bail("/proc cannot be read");
	n = list.n;
	ok(!n || (list.v[0].pid == orphan && list.v[0].top), "none but the orphan");
	vec_free(&list);
	return n;
}

int main(void)
{
	uint64_t start_ns = clock_now_ns(), other_ns = start_ns - NS_PER_SEC;
	int said[2], hold[2];
	pid_t root, orphan;
	char byte;

	if (pipe(said) || pipe(hold) || (root = fork()) < 0)
		bail("no child");
	if (!root) {
		pid_t self = fork();

		close(hold[1]);
		if (self)
			_exit(self < 0);
		self = getpid();
		if (write(said[1], &self, sizeof(self)) != sizeof(self))
			_exit(1);
		_exit(read(hold[0], &byte, 1) != 0);
	}
	close(hold[0]);
	waitpid(root, NULL, 0);
	if (read(said[0], &orphan, sizeof(orphan)) != sizeof(orphan))
		bail("no orphan");
	is_int((int64_t)living(root, orphan, &start_ns), 1, "it is known by both");
	is_int((int64_t)living(root, orphan, &other_ns), 0, "another may have its pid later");
	is_int((int64_t)living(root, orphan, NULL), 1, "by its pid where no start is told");
	close(hold[1]);
	return done_testing();
}
