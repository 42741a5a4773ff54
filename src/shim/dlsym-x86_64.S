/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym(handle, name): the driver's functions are answered by us; everything else goes on to the
 * real one by a jump, which sees the caller's return address. A C wrapper would make us the caller,
 * and RTLD_NEXT would begin behind us.
 */
	.text
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movq	%rdi, (%rsp)
	movq	%rsi, 8(%rsp)
	call	shim_dlsym
	testq	%rdx, %rdx
	jnz	1f
	movq	(%rsp), %rdi
	movq	8(%rsp), %rsi
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	jmpq	*shim_real_dlsym(%rip)
1:
	.cfi_adjust_cfa_offset 24
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size	dlsym, .-dlsym
	.section .note.GNU-stack, "", @progbits
