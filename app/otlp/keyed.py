"""The attributes of a span's message by their keys, without a Python object for each.

A `map<string, bytes>` is sent as what KeyValue is: a message of a key and of bytes, here those of an AnyValue. So the
parser makes the table of keys, and only the values that are asked for are read. Of equal keys the last one counts.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

_ATTRIBUTES = SpanMessage.DESCRIPTOR.fields_by_name["attributes"].number


def _keyed_class() -> Any:
    field = FieldDescriptorProto
    file = FileDescriptorProto(name="reprise/keyed.proto", package="reprise", syntax="proto3")
    span = file.message_type.add(name="KeyedSpan")
    entry = span.nested_type.add(name="AttributesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    span.field.add(
        name="attributes",
        number=_ATTRIBUTES,
        type=field.TYPE_MESSAGE,
        label=field.LABEL_REPEATED,
        type_name=".reprise.KeyedSpan.AttributesEntry",
    )
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("reprise.KeyedSpan"))


_KeyedSpan = _keyed_class()


def keyed_attributes(content: bytes) -> Any:
    """A mapping of the attributes of a span that was parsed: the bytes of an AnyValue by each key."""
    return _KeyedSpan.FromString(content).attributes
