// Push frames put together from parts that are already bytes.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/check.h"
#include "tidemark.pb.h"
#include "wire/dialect.h"
#include "wire/json_writer.h"

namespace tidemark {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr int kFirstHeaderField = pb::PushItem::kIndexAfterFieldNumber;
constexpr int kLastHeaderField = pb::PushItem::kSummaryFieldNumber;
static_assert(kLastHeaderField + 1 == pb::PushItem::kConversationIdFieldNumber,
              "an item's own fields come before the shared ones");
static_assert(pb::PushItem::kEntryFieldNumber == pb::PushItem::kConversationIdFieldNumber + 3,
              "the shared fields are conversation_id, after, to and entry");

void append_varint(std::size_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

constexpr std::uint32_t tag_of(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

std::size_t varint_size(std::size_t value) {
  return CodedOutputStream::VarintSize64(value);
}

/// Bytes of a field that holds a message of this size.
std::size_t field_size(std::uint32_t tag, std::size_t content) {
  return varint_size(tag) + varint_size(content) + content;
}

void append_head(std::uint32_t tag, std::size_t content, std::string& out) {
  append_varint(tag, out);
  append_varint(content, out);
}

constexpr int kFirstTailField = pb::PushItem::kObjectsFieldNumber;
constexpr int kLastTailField = pb::PushItem::kPartFieldNumber;

PushHeader encode_binary_header(const pb::PushItem& header) {
  PushHeader made;
  if (header.objects().empty() && header.part() == pb::ITEM_PART_WHOLE) {
    TM_CHECK(header.AppendPartialToString(&made.front), "a push header of more than 2 GiB was made");
    return made;
  }
  pb::PushItem front = header;
  front.clear_objects();
  front.clear_part();
  front.AppendPartialToString(&made.front);
  pb::PushItem back;
  *back.mutable_objects() = header.objects();
  back.set_part(header.part());
  back.AppendPartialToString(&made.back);
  return made;
}

PushHeader encode_json_header(const pb::PushItem& header) {
  PushHeader made;
  write_json_fields(header, kFirstHeaderField, kLastHeaderField, made.front);
  write_json_fields(header, kFirstTailField, kLastTailField, made.back);
  return made;
}

std::size_t size_of(const PushPart& part) {
  return part.front.size() + part.shared.size() + part.back.size();
}

void append_binary_push(std::span<const PushPart> parts, std::string& out) {
  constexpr std::uint32_t kItemTag = tag_of(pb::Push::kItemsFieldNumber);
  std::size_t all = 0;
  for (const PushPart& part : parts) all += field_size(kItemTag, size_of(part));
  out.reserve(out.size() + all + 16);
  append_head(tag_of(pb::ServerFrame::kPushFieldNumber), all, out);
  for (const PushPart& part : parts) {
    append_head(kItemTag, size_of(part), out);
    out.append(part.front).append(part.shared).append(part.back);
  }
}

std::string encode_shared_json(std::string_view conversation_id, std::uint64_t after, std::uint64_t to,
                               const pb::Message* entry) {
  pb::PushItem item;
  item.set_conversation_id(std::string(conversation_id));
  item.set_after(after);
  item.set_to(to);
  std::string out;
  write_json_fields(item, pb::PushItem::kConversationIdFieldNumber, pb::PushItem::kToFieldNumber, out);
  out += ",\"entry\":";
  if (entry)
    write_json(*entry, out);
  else
    out += "null";
  return out;
}

void append_json_push(std::span<const PushPart> parts, std::string& out) {
  static const std::string nothing_shared = encode_shared_json("", 0, 0, nullptr);
  out += R"({"id":0,"push":{"items":[)";
  bool comma = false;
  for (const PushPart& part : parts) {
    out += comma ? ",{" : "{";
    comma = true;
    out.append(part.front) += ',';
    out.append(part.shared.empty() ? std::string_view(nothing_shared) : part.shared) += ',';
    out.append(part.back) += '}';
  }
  out += "]}}";
}

}  // namespace

std::string encode_shared_entry(Dialect dialect, std::string_view conversation_id, std::uint64_t after,
                                std::uint64_t to, const pb::Message* entry) {
  if (dialect == Dialect::json) return encode_shared_json(conversation_id, after, to, entry);
  pb::PushItem item;
  item.set_conversation_id(std::string(conversation_id));
  item.set_after(after);
  item.set_to(to);
  std::string out;
  if (entry == nullptr) return item.SerializeAsString();
  const std::size_t size = entry->ByteSizeLong();
  out.reserve(item.ByteSizeLong() + size + 8);
  item.AppendToString(&out);
  append_head(tag_of(pb::PushItem::kEntryFieldNumber), size, out);
  TM_CHECK(entry->AppendToString(&out), "an entry of more than 2 GiB was made");
  return out;
}

PushHeader encode_push_header(Dialect dialect, const pb::PushItem& header) {
  TM_CHECK(header.conversation_id().empty() && header.after() == 0 && header.to() == 0 && !header.has_entry(),
           "a push header holds fields of the shared part");
  return dialect == Dialect::json ? encode_json_header(header) : encode_binary_header(header);
}

void append_push_frame(Dialect dialect, std::span<const PushPart> parts, std::string& out) {
  if (dialect == Dialect::json)
    append_json_push(parts, out);
  else
    append_binary_push(parts, out);
}

}  // namespace tidemark
