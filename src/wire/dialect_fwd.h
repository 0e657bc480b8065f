// The names of the protobuf types that the wire's headers speak of, without protobuf's own headers.
#pragma once

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class OneofDescriptor;
class Message;
}  // namespace google::protobuf

namespace tidemark {
namespace v1 {
class ClientFrame;
class Message;
class PushItem;
class ServerFrame;
}  // namespace v1
namespace pb = v1;  // the schema's types (tidemark.pb.h)
}  // namespace tidemark
