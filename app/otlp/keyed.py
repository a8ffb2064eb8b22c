"""A span's message with its attributes in a table by key, without a Python object for each.

A `map<string, AnyValue>` has the same encoding as KeyValue: a message with a key and a value. The parser makes the
table, and only the values that are read become objects. The last of several equal keys counts.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage


def _keyed_class() -> Any:
    span_descriptor, value_descriptor = SpanMessage.DESCRIPTOR, AnyValue.DESCRIPTOR
    field = FieldDescriptorProto
    file = FileDescriptorProto(name="reprise/keyed.proto", package="reprise", syntax="proto3")
    file.dependency.extend([span_descriptor.file.name, value_descriptor.file.name])
    span = file.message_type.add()
    span_descriptor.CopyToProto(span)
    del span.nested_type[:], span.enum_type[:], span.reserved_range[:], span.reserved_name[:]
    span.name = "KeyedSpan"
    entry = span.nested_type.add(name="AttributesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    value_type = f".{value_descriptor.full_name}"
    optional = field.LABEL_OPTIONAL
    entry.field.add(name="value", number=2, type=field.TYPE_MESSAGE, label=optional, type_name=value_type)
    next(field for field in span.field if field.name == "attributes").type_name = ".reprise.KeyedSpan.AttributesEntry"
    pool = Default()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("reprise.KeyedSpan"))


KeyedSpan = _keyed_class()
