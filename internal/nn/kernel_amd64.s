#include "go_asm.h"
#include "textflag.h"

// The vector code of evaluate, for AVX2: the same operations in the same order, eight
// lanes at a time. Everything is said there; here only where things are.

// EIGHT defines a constant of eight equal lanes.
#define EIGHT(name, bits) \
	DATA name<>+0(SB)/4, $bits  \
	DATA name<>+4(SB)/4, $bits  \
	DATA name<>+8(SB)/4, $bits  \
	DATA name<>+12(SB)/4, $bits \
	DATA name<>+16(SB)/4, $bits \
	DATA name<>+20(SB)/4, $bits \
	DATA name<>+24(SB)/4, $bits \
	DATA name<>+28(SB)/4, $bits \
	GLOBL name<>(SB), (RODATA|NOPTR), $32

EIGHT(one, 0x3f800000)
EIGHT(log2, 0x3f317218)
EIGHT(mantissa, 0x007fffff)
EIGHT(bias, 0x0000007f)
EIGHT(greatest, 0x7f7fffff)
EIGHT(p2, 0xbefffcbe)
EIGHT(p3, 0x3eaa99cd)
EIGHT(p4, 0xbe809085)
EIGHT(p5, 0x3e5333c6)
EIGHT(p6, 0xbe266e2a)
EIGHT(p7, 0x3d9c7946)

// func evaluateAVX2(w *Weights, s *Stage, in *[Inputs]float64, f *[Padded]float32, out *[Outputs]float32) bool
//
// The frame holds 40 logarithms, then the 24 channels of the schedule's embedding.
TEXT ·evaluateAVX2(SB), NOSPLIT, $256-41
	MOVQ w+0(FP), DI
	MOVQ s+8(FP), R8
	MOVQ in+16(FP), SI
	MOVQ f+24(FP), DX
	MOVQ out+32(FP), R9
	LEAQ scratch-256(SP), R11

	// Features to float32: 32 of them, then the last seven and a zero.
	VCVTPD2PSY 0(SI), X0
	VCVTPD2PSY 32(SI), X5
	VINSERTF128 $1, X5, Y0, Y0
	VMOVUPS Y0, 0(DX)
	VCVTPD2PSY 64(SI), X1
	VCVTPD2PSY 96(SI), X5
	VINSERTF128 $1, X5, Y1, Y1
	VMOVUPS Y1, 32(DX)
	VCVTPD2PSY 128(SI), X2
	VCVTPD2PSY 160(SI), X5
	VINSERTF128 $1, X5, Y2, Y2
	VMOVUPS Y2, 64(DX)
	VCVTPD2PSY 192(SI), X3
	VCVTPD2PSY 224(SI), X5
	VINSERTF128 $1, X5, Y3, Y3
	VMOVUPS Y3, 96(DX)
	VCVTPD2PSY 256(SI), X4
	VCVTPD2PSY 280(SI), X5
	VPSRLDQ $4, X5, X5
	VINSERTF128 $1, X5, Y4, Y4
	VMOVUPS Y4, 128(DX)

	// None above the largest finite one, as unsigned bits.
	VPMAXUD Y1, Y0, Y0
	VPMAXUD Y3, Y2, Y2
	VPMAXUD Y2, Y0, Y0
	VPMAXUD Y4, Y0, Y0
	VMOVUPS greatest<>(SB), Y1
	VPMAXUD Y1, Y0, Y0
	VPCMPEQD Y1, Y0, Y0
	VMOVMSKPS Y0, AX
	CMPL AX, $255
	SETEQ ret+40(FP)

	// Logarithms.
	XORQ CX, CX

logarithm:
	VMOVUPS (DX)(CX*1), Y0
	VADDPS one<>(SB), Y0, Y0
	VPSRLD $23, Y0, Y1
	VPAND mantissa<>(SB), Y0, Y0
	VPSRLD $22, Y0, Y2
	VPADDD Y2, Y1, Y1
	VPSUBD bias<>(SB), Y1, Y1
	VCVTDQ2PS Y1, Y1
	VPSLLD $23, Y2, Y2
	VPSUBD Y2, Y0, Y0
	VPADDD one<>(SB), Y0, Y0
	VSUBPS one<>(SB), Y0, Y0
	VMULPS Y0, Y0, Y4
	VMULPS p7<>(SB), Y4, Y5
	VADDPS p5<>(SB), Y5, Y5
	VMULPS Y4, Y5, Y5
	VADDPS p3<>(SB), Y5, Y5
	VMULPS Y4, Y5, Y5
	VADDPS one<>(SB), Y5, Y5
	VMULPS Y0, Y5, Y5
	VMULPS p6<>(SB), Y4, Y6
	VADDPS p4<>(SB), Y6, Y6
	VMULPS Y4, Y6, Y6
	VADDPS p2<>(SB), Y6, Y6
	VMULPS Y4, Y6, Y6
	VMULPS log2<>(SB), Y1, Y1
	VADDPS Y1, Y6, Y6
	VADDPS Y5, Y6, Y0
	VMOVUPS Y0, (R11)(CX*1)
	ADDQ $32, CX
	CMPQ CX, $160
	JLT logarithm

	// Head 2: 24 channels in three vectors.
	VMOVUPS (Weights_Head2Bias+0)(DI), Y0
	VMOVUPS (Weights_Head2Bias+32)(DI), Y1
	VMOVUPS (Weights_Head2Bias+64)(DI), Y2
	LEAQ Weights_Head2Filter(DI), R10
	XORQ CX, CX

head:
	VBROADCASTSS (R11)(CX*4), Y3
	VMULPS 0(R10), Y3, Y4
	VMULPS 32(R10), Y3, Y5
	VMULPS 64(R10), Y3, Y6
	VADDPS Y4, Y0, Y0
	VADDPS Y5, Y1, Y1
	VADDPS Y6, Y2, Y2
	ADDQ $96, R10
	INCQ CX
	CMPQ CX, $const_Inputs
	JLT head

	VXORPS Y7, Y7, Y7
	VMAXPS Y0, Y7, Y0
	VMAXPS Y1, Y7, Y1
	VMAXPS Y2, Y7, Y2
	VMOVUPS Y0, 160(R11)
	VMOVUPS Y1, 192(R11)
	VMOVUPS Y2, 224(R11)

	// Conv 1: 32 coefficients in four vectors, behind the algorithm's channels.
	VMOVUPS 0(R8), Y0
	VMOVUPS 32(R8), Y1
	VMOVUPS 64(R8), Y2
	VMOVUPS 96(R8), Y3
	LEAQ (Weights_Conv1Filter+4*const_Outputs*const_Algorithm)(DI), R10
	XORQ CX, CX

conv:
	VBROADCASTSS 160(R11)(CX*4), Y4
	VMULPS 0(R10), Y4, Y5
	VMULPS 32(R10), Y4, Y6
	VMULPS 64(R10), Y4, Y8
	VMULPS 96(R10), Y4, Y9
	VADDPS Y5, Y0, Y0
	VADDPS Y6, Y1, Y1
	VADDPS Y8, Y2, Y2
	VADDPS Y9, Y3, Y3
	ADDQ $128, R10
	INCQ CX
	CMPQ CX, $const_Schedule
	JLT conv

	VMAXPS Y0, Y7, Y0
	VMAXPS Y1, Y7, Y1
	VMAXPS Y2, Y7, Y2
	VMAXPS Y3, Y7, Y3
	VMOVUPS Y0, 0(R9)
	VMOVUPS Y1, 32(R9)
	VMOVUPS Y2, 64(R9)
	VMOVUPS Y3, 96(R9)
	VZEROUPPER
	RET
