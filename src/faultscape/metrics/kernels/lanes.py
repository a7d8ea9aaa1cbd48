"""Several numbers compared with one at once, for kernels that would mispredict a branch for each."""

# ruff: noqa: ANN001, ANN202 - numba infers types from the arguments
# an intrinsic's first argument is numba's own:
# pyright: reportCallIssue=false

from __future__ import annotations

from faultscape.maps import jit  # noqa: F401 - decides first whether numba may be used

from llvmlite import ir  # isort: skip
from numba import types  # isort: skip
from numba.extending import intrinsic  # isort: skip


def _compared(sign, lanes):
    """Return a kernel of (address, value): how many of the numbers at an address compare so with it."""

    @intrinsic
    def compared(typingctx, address, value):
        del typingctx

        def code(context, builder, signature, arguments):
            vector = ir.VectorType(context.get_value_type(signature.args[1]), lanes)
            lane = ir.IntType(32)
            numbers = builder.load(builder.inttoptr(arguments[0], vector.as_pointer()), align=1)
            one = builder.insert_element(
                ir.Constant(vector, ir.Undefined), arguments[1], ir.Constant(lane, 0)
            )
            spread = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(lane, lanes), [0] * lanes))
            bits = builder.bitcast(builder.fcmp_ordered(sign, numbers, spread), ir.IntType(lanes))
            return builder.zext(builder.ctpop(bits), ir.IntType(64))

        return types.uint64(address, value), code

    return compared


above_of_8 = _compared(">", 8)
equal_of_8 = _compared("==", 8)
below_of_32 = _compared("<", 32)
equal_of_32 = _compared("==", 32)
