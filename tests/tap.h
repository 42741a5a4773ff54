/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Test Anything Protocol for C tests: one header, one test program. A test calls plan() first,
 * or none and done_testing() last; main() returns done_testing().
 */
#pragma once
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed, tap_planned;

/* One comment line a line of text. */
__attribute__((unused, format(printf, 1, 2))) static void diag(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		printf("# %s\n", line);
	fflush(stdout);
}

__attribute__((unused)) static void plan(int n)
{
	tap_planned = n;
	printf("1..%d\n", n);
	fflush(stdout);
}

/* Everything is skipped: ends the test with success. */
__attribute__((unused, noreturn, format(printf, 1, 2))) static void skip_all(const char *fmt, ...)
{
	va_list ap;

	printf("1..0 # SKIP ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(0);
}

/* The test cannot go on. */
__attribute__((unused, noreturn, format(printf, 1, 2))) static void bail(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

__attribute__((unused, format(printf, 4, 0))) static bool
tap_result(bool good, const char *file, int line, const char *fmt, va_list ap)
{
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	printf("\n");
	if (!good) {
		tap_failed++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

__attribute__((unused, format(printf, 4, 5))) static bool tap_ok(bool good, const char *file,
								 int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_result(good, file, line, fmt, ap);
	va_end(ap);
	return good;
}

__attribute__((unused, format(printf, 5, 6))) static bool
tap_is_int(int64_t got, int64_t want, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!tap_result(got == want, file, line, fmt, ap))
		diag("got %" PRId64 ", wanted %" PRId64, got, want);
	va_end(ap);
	return got == want;
}

__attribute__((unused, format(printf, 5, 6))) static bool
tap_is_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	va_list ap;

	va_start(ap, fmt);
	if (!tap_result(same, file, line, fmt, ap)) {
		diag("got    %s", got ? got : "(null)");
		diag("wanted %s", want ? want : "(null)");
	}
	va_end(ap);
	return same;
}

/* ok(condition, name, ...): true when it holds. */
#define ok(condition, ...) tap_ok((condition), __FILE__, __LINE__, __VA_ARGS__)
#define pass(...)	   tap_ok(true, __FILE__, __LINE__, __VA_ARGS__)
#define fail(...)	   tap_ok(false, __FILE__, __LINE__, __VA_ARGS__)
/* is_int(got, want, name, ...), is_str(got, want, name, ...): both are shown when they differ. */
#define is_int(got, want, ...) tap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)

/* `n` tests are not run, and why. */
__attribute__((unused, format(printf, 2, 3))) static void skip(int n, const char *fmt, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	for (int i = 0; i < n; i++)
		printf("ok %d # SKIP %s\n", ++tap_count, why);
	fflush(stdout);
}

/* Prints the plan when plan() did not. Returns: the exit status of the test. */
__attribute__((unused)) static int done_testing(void)
{
	if (!tap_planned)
		printf("1..%d\n", tap_count);
	else if (tap_planned != tap_count)
		diag("planned %d, ran %d", tap_planned, tap_count);
	if (tap_failed)
		diag("%d of %d failed", tap_failed, tap_count);
	return tap_failed || (tap_planned && tap_planned != tap_count);
}
