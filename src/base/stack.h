/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of our own, where the one that we were started with is small. */
#pragma once

/*
 * Returns what main_fn(argc, argv) returns. Where the limit of the stack is below what we and our
 * libraries need, it runs on memory of its own: the limit itself is the guest's and stays. Without
 * that memory it runs where we are. To be called once, by a program of one thread.
 */
int stack_run(int (*main_fn)(int, char **), int argc, char **argv);
