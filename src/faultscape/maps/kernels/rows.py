"""The loops of the label-map code (maps.kernels.plain_rows), compiled, with those that write pixels replaced
by the compiler's own vectors.

Conventions: ``fill`` and ``repeat`` write whole vectors and so overwrite up to plain_rows.SLACK positions
after a run, which later runs write again; near the end of the map they write exactly. They are written into
the loops: a call a run would cost more than the run. numba's cache checks only plain_rows.py: after changing
the vectors here, delete __pycache__.
"""


# ruff: noqa: ANN001, ANN202, ARG001 - numba infers types from the arguments, and intrinsics only name theirs
# an intrinsic's first argument is numba's own:
# pyright: reportCallIssue=false

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.maps.kernels import plain_rows

from llvmlite import ir  # isort: skip - jit.py decides first whether numba may be used
from numba import types  # isort: skip  # pyright: ignore[reportPrivateImportUsage]
from numba.core import cgutils  # isort: skip
from numba.extending import intrinsic, overload  # isort: skip


_SHORT = 32  # positions of a vector for a few pixels


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


@intrinsic
def _blend(typingctx, out, start, size, value):
    """Write a value at the first ``size`` of the positions of a vector, and at the others what they hold: no
    branch to predict.
    """
    del typingctx

    def code(context, builder, signature, arguments):
        label = context.get_data_type(signature.args[3])
        vector = ir.VectorType(label, _SHORT)
        counter = ir.VectorType(ir.IntType(8), _SHORT)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(cgutils.gep_inbounds(builder, array.data, arguments[1]), vector.as_pointer())

        def spread(kind, one):
            first = builder.insert_element(
                ir.Constant(kind, ir.Undefined), one, ir.Constant(ir.IntType(32), 0)
            )
            return builder.shuffle_vector(
                first, first, ir.Constant(ir.VectorType(ir.IntType(32), _SHORT), [0] * _SHORT)
            )

        limit = spread(counter, builder.trunc(arguments[2], ir.IntType(8)))
        within = builder.icmp_unsigned("<", ir.Constant(counter, list(range(_SHORT))), limit)
        held = builder.load(place, align=1)
        builder.store(builder.select(within, spread(vector, arguments[3]), held), place, align=1)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.int64, out.dtype), code


@overload(plain_rows.place, inline="always")
def _place(at):
    del at

    def without_sign(at):
        return np.uint64(at)

    return without_sign


@overload(plain_rows.move, inline="always")
def _move(out, base, start, was, end, value, after):
    del out, base, start, was, end, value, after

    def in_one_vector(out, base, start, was, end, value, after):
        first = base + max(start, min(was, end))
        size = base + max(was, end) - first
        own = value if end > was else after
        if size <= _SHORT and first + _SHORT <= len(out):
            _blend(out, first, size, own)
        else:
            for at in range(first, first + size):
                out[np.uint64(at)] = own

    return in_one_vector


@overload(plain_rows.fill, inline="always")
def _fill(out, start, end, value):
    del out, start, end, value

    def in_vectors(out, start, end, value):
        if end + plain_rows.SLACK <= len(out):
            _fill_by_vectors(out, start, end, value)
        else:  # the end of the map
            for at in range(start, end):
                out[np.uint64(at)] = value

    return in_vectors


@overload(plain_rows.repeat, inline="always")
def _repeat(out, start, width):
    del out, start, width

    def in_vectors(out, start, width):
        if start + width + plain_rows.SLACK <= len(out):
            _copy_by_vectors(out, start - width, start, start + width)
        else:
            for at in range(start, start + width):
                out[np.uint64(at)] = out[np.uint64(at - width)]

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
