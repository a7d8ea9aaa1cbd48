"""The loops of the label-map code (maps.kernels.plain_rows), compiled, with the two that write pixels
replaced by the compiler's own vectors.

Conventions: ``fill`` and ``repeat`` write whole vectors and so overwrite up to plain_rows.SLACK positions
after a run, which later runs write again; near the end of the map they write exactly. numba's cache checks
only plain_rows.py: after changing the vectors here, delete __pycache__.
"""


# ruff: noqa: ANN001, ANN202, ARG001 - numba infers types from the arguments, and intrinsics only name theirs
# an intrinsic's first argument is numba's own:
# pyright: reportCallIssue=false

from __future__ import annotations

from faultscape.maps.jit import jit
from faultscape.maps.kernels import plain_rows

from llvmlite import ir  # isort: skip - jit.py decides first whether numba may be used
from numba import types  # isort: skip  # pyright: ignore[reportPrivateImportUsage]
from numba.core import cgutils  # isort: skip
from numba.extending import intrinsic, overload  # isort: skip


@intrinsic
def _fill_by_vectors(typingctx, out, start, end, value):
    """Write a value in vectors from start until the end is passed."""
    del typingctx
    lanes = plain_rows.SLACK

    def code(context, builder, signature, arguments):
        label = context.get_data_type(signature.args[3])
        vector = ir.VectorType(label, lanes)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        one = builder.insert_element(
            ir.Constant(vector, ir.Undefined), arguments[3], ir.Constant(ir.IntType(32), 0)
        )
        spread = builder.shuffle_vector(
            one, one, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        )
        step = ir.Constant(ir.IntType(64), lanes)

        def store(at):
            builder.store(
                spread,
                builder.bitcast(cgutils.gep_inbounds(builder, array.data, at), vector.as_pointer()),
                align=1,
            )

        store(arguments[1])  # most runs end here
        with cgutils.for_range_slice(builder, builder.add(arguments[1], step), arguments[2], step) as (at, _):
            store(at)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.int64, out.dtype), code


@intrinsic
def _copy_by_vectors(typingctx, out, source, start, end):
    """Copy from source to start in vectors until the end is passed."""
    del typingctx
    lanes = plain_rows.SLACK

    def code(context, builder, signature, arguments):
        vector = ir.VectorType(context.get_data_type(signature.args[0].dtype), lanes)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        back = builder.sub(arguments[2], arguments[1])
        step = ir.Constant(ir.IntType(64), lanes)
        with cgutils.for_range_slice(builder, arguments[2], arguments[3], step) as (at, _):
            source, target = (
                builder.bitcast(cgutils.gep_inbounds(builder, array.data, place), vector.as_pointer())
                for place in (builder.sub(at, back), at)
            )
            builder.store(builder.load(source, align=1), target, align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.int64, types.int64), code


@overload(plain_rows.fill)
def _fill(out, start, end, value):
    del out, start, end, value

    def in_vectors(out, start, end, value):
        if end + plain_rows.SLACK <= len(out):
            _fill_by_vectors(out, start, end, value)
        else:  # the end of the map
            for at in range(start, end):
                out[at] = value

    return in_vectors


@overload(plain_rows.repeat)
def _repeat(out, start, width):
    del out, start, width

    def in_vectors(out, start, width):
        if start + width + plain_rows.SLACK <= len(out):
            _copy_by_vectors(out, start - width, start, start + width)
        else:
            for at in range(start, start + width):
                out[at] = out[at - width]

    return in_vectors


@overload(plain_rows.copy)
def _copy(out, start, row):
    del out, start, row

    def one_by_one(out, start, row):
        for at in range(len(row)):
            out[start + at] = row[at]

    return one_by_one


tell_rows = jit(plain_rows.tell_rows)
draw_rows = jit(plain_rows.draw_rows)
