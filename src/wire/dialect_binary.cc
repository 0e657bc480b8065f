#include "wire/dialect_binary.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "tidemark.pb.h"

namespace tidemark {
namespace {

using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

/// Walks a parsed message; answers false once error_ is set.
class ParsedCheck {
 public:
  explicit ParsedCheck(bool look_for_nul) : look_for_nul_(look_for_nul) {}

  bool walk(const Message& message, const MessagePlan& plan, const Place* up) {
    const Reflection& reflection = *message.GetReflection();
    for (const std::size_t each : plan.checked)
      if (!check(message, reflection, plan.fields[each], up)) return false;
    for (const auto* oneof : plan.oneofs) {
      const auto* set = reflection.GetOneofFieldDescriptor(message, oneof);
      if (set != nullptr && !check(message, reflection, plan.fields[static_cast<std::size_t>(set->index())], up))
        return false;
    }
    return true;
  }
  Error take_error() { return std::move(error_); }

 private:
  bool check(const Message& message, const Reflection& reflection, const FieldPlan& field, const Place* up) {
    const Place place{.up = up, .name = field.name};
    return field.repeated ? check_all(message, reflection, field, place) : check_one(message, reflection, field, place);
  }
  bool check_one(const Message& message, const Reflection& reflection, const FieldPlan& field, const Place& place) {
    const auto* descriptor = field.descriptor;
    std::string scratch;
    switch (field.kind) {
      case ValueKind::message:
        return !reflection.HasField(message, descriptor) ||
               walk(reflection.GetMessage(message, descriptor), *field.message, &place);
      case ValueKind::text:
        return !look_for_nul_ || check_text(reflection.GetStringReference(message, descriptor, &scratch), place);
      case ValueKind::word:
        return check_word(reflection.GetEnumValue(message, descriptor), *field.words, place);
      default:
        return true;
    }
  }

  bool check_all(const Message& message, const Reflection& reflection, const FieldPlan& field, const Place& place) {
    const auto* descriptor = field.descriptor;
    std::string scratch;
    const int size = reflection.FieldSize(message, descriptor);
    for (int i = 0; i < size; ++i) {
      const Place element{.up = &place, .index = static_cast<std::size_t>(i)};
      bool good = true;
      if (field.kind == ValueKind::message)
        good = walk(reflection.GetRepeatedMessage(message, descriptor, i), *field.message, &element);
      else if (field.kind == ValueKind::text && look_for_nul_)
        good = check_text(reflection.GetRepeatedStringReference(message, descriptor, i, &scratch), element);
      else if (field.kind == ValueKind::word)
        good = check_word(reflection.GetRepeatedEnumValue(message, descriptor, i), *field.words, element);
      if (!good) return false;
    }
    return true;
  }

  bool check_text(std::string_view text, const Place& place) {
    if (text.find('\0') == std::string_view::npos) return true;
    error_ = Error{ErrorCode::MALFORMED, path_of(&place), "NUL is not allowed."};
    return false;
  }
  bool check_word(int number, const EnumPlan& words, const Place& place) {
    if (words.word_of(number)) return true;
    error_ = Error{ErrorCode::OUT_OF_RANGE, path_of(&place), fmt::format("Allowed are: {}.", words.list())};
    return false;
  }

  bool look_for_nul_;
  Error error_{ErrorCode::MALFORMED};
};

CodedInputStream stream_of(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
}

const FieldPlan* field_numbered(const MessagePlan& plan, int number) {
  for (const FieldPlan& field : plan.fields)
    if (field.descriptor->number() == number) return &field;
  return nullptr;
}

/// Of a field that says how long it is.
bool read_content(CodedInputStream& in, std::string& content) {
  std::uint32_t size = 0;
  return in.ReadVarint32(&size) && static_cast<int>(size) >= 0 && in.ReadString(&content, static_cast<int>(size));
}

/// Looks through encoded bytes in the order that the parser read them, for the fault that it stopped at.
class FaultSearch {
 public:
  /// False: the fault is found. The schema does not nest in itself, so the depth here is small.
  bool walk(std::string_view bytes, const MessagePlan& plan, const Place* up) {
    CodedInputStream in = stream_of(bytes);
    std::map<int, std::size_t> counts;
    for (;;) {
      const std::uint32_t tag = in.ReadTag();
      if (tag == 0) return in.ConsumedEntireMessage() || found(up, "The bytes end inside a field or hold a bad tag.");
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      const FieldPlan* field = field_numbered(plan, number);
      if (field && WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        const Place place{.up = up, .name = field->name};
        const Place element{.up = &place, .index = counts[number]++};
        if (!walk_content(in, *field, field->repeated ? &element : &place)) return false;
      } else if (!WireFormatLite::SkipField(&in, tag)) {
        const Place place{.up = up, .name = field ? field->name : "?"};
        return found(field ? &place : up, "The bytes of a field are cut or not well formed.");
      }
    }
  }
  Error take_error() { return std::move(error_); }

 private:
  bool walk_content(CodedInputStream& in, const FieldPlan& field, const Place* place) {
    std::string content;
    if (!read_content(in, content)) return found(place, "The bytes of the field are cut or not well formed.");
    if (field.kind == ValueKind::message) return walk(content, *field.message, place);
    if (field.kind == ValueKind::text && !valid_utf8(content)) return found(place, "It is not UTF-8.");
    return true;
  }
  bool found(const Place* place, const char* what) {
    error_ = Error{ErrorCode::MALFORMED, path_of(place), what};
    return false;
  }

  Error error_{ErrorCode::MALFORMED, {}, "The bytes are no frame of this protocol."};
};

void append_nested(std::uint32_t tag, std::string_view content, std::string& out) {
  std::array<std::uint8_t, 10> head;
  std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag, head.data());
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(content.size()), end);
  out.append(head.data(), end);
  out.append(content);
}

/// Copies encoded bytes field by field. False: there is a fault outside of entries.
bool copy_readable(std::string_view bytes, const MessagePlan& plan, std::string& out) {
  CodedInputStream in = stream_of(bytes);
  for (;;) {
    const auto begin = static_cast<std::size_t>(in.CurrentPosition());
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) return in.ConsumedEntireMessage();
    const FieldPlan* field = field_numbered(plan, WireFormatLite::GetTagFieldNumber(tag));
    const bool nested = field && field->kind == ValueKind::message &&
                        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!nested) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      out.append(bytes.substr(begin, static_cast<std::size_t>(in.CurrentPosition()) - begin));
      continue;
    }
    std::string content;
    if (!read_content(in, content)) return false;
    std::string readable;
    if (field->message->name == "Message") {
      if (pb::Message().ParseFromString(content)) readable = std::move(content);
    } else if (!copy_readable(content, *field->message, readable)) {
      return false;
    }
    append_nested(tag, readable, out);
  }
}

}  // namespace

Result<void> check_parsed(const Message& message, bool look_for_nul) {
  ParsedCheck check(look_for_nul);
  if (check.walk(message, plan_of(message), nullptr)) return {};
  return std::unexpected(check.take_error());
}

std::optional<std::string> without_broken_entries(std::string_view bytes, const MessagePlan& plan) {
  std::string readable;
  return copy_readable(bytes, plan, readable) ? std::optional(std::move(readable)) : std::nullopt;
}

Error explain_binary_fault(std::string_view bytes, const MessagePlan& plan) {
  FaultSearch search;
  search.walk(bytes, plan, nullptr);
  return search.take_error();
}

std::uint64_t find_binary_id(std::string_view bytes) {
  CodedInputStream in = stream_of(bytes);
  const std::uint32_t id_tag = WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_VARINT);
  std::uint64_t id = 0;
  while (const std::uint32_t tag = in.ReadTag()) {
    if (tag == id_tag ? !in.ReadVarint64(&id) : !WireFormatLite::SkipField(&in, tag)) break;
  }
  return id;
}

}  // namespace tidemark
