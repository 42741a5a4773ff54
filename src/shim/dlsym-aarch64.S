/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym(handle, name): the driver's functions are answered by us; everything else goes on to the
 * real one by a jump, which sees the caller's return address. A C wrapper would make us the caller,
 * and RTLD_NEXT would begin behind us.
 */
	.text
	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34		/* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	bl	shim_dlsym
	cbnz	x1, 1f
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_remember_state
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	adrp	x16, shim_real_dlsym
	ldr	x16, [x16, #:lo12:shim_real_dlsym]
	br	x16
1:
	.cfi_restore_state
	ldp	x29, x30, [sp], #32
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	dlsym, .-dlsym
	.section .note.GNU-stack, "", %progbits
