/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets at the moment they listen: the port is known then, also where it was bound as 0. */
#include "state.bpf.h"

#define TCP_LISTEN 10
#define AF_INET6   10

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(listen_state, const struct sock *sk, int from, int to)
{
	struct kernel_listen r = {};
	struct thread *th;

	if (to != TCP_LISTEN || detached)
		return 0;
	th = thread_current();
	if (!th)
		return 0;
	head_fill(&r.head, KERNEL_LISTEN, th, bpf_ktime_get_ns());
	r.head.value = BPF_CORE_READ(sk, __sk_common.skc_num);
	r.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (r.family == AF_INET6) {
		BPF_CORE_READ_INTO(&r.address, sk, __sk_common.skc_v6_rcv_saddr);
	} else {
		uint32_t address = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);

		__builtin_memcpy(r.address, &address, sizeof(address));
	}
	emit(&r, sizeof(r), true);
	return 0;
}
