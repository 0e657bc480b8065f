#include "wire/json_schema.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cctype>
#include <list>
#include <map>

#include "base/check.h"
#include "tidemark.pb.h"

namespace tidemark {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

/// "MemberAction" -> "MEMBER_ACTION_".
std::string enum_prefix(std::string_view name) {
  std::string prefix;
  for (char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return prefix + '_';
}

EnumPlan make_enum_plan(const EnumDescriptor& source) {
  EnumPlan plan{.name = source.name(), .words = {}};
  const std::string prefix = enum_prefix(source.name());
  for (int i = 0; i < source.value_count(); ++i) {
    std::string_view name = source.value(i)->name();
    TM_CHECK(name.starts_with(prefix), "an enum value of the schema lacks its enum's prefix");
    std::string word(name.substr(prefix.size()));
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    plan.words.emplace_back(source.value(i)->number(), std::move(word));
  }
  return plan;
}

ValueKind kind_of(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_UINT32:
      return ValueKind::u32;
    case FieldDescriptor::TYPE_UINT64:
      return ValueKind::u64;
    case FieldDescriptor::TYPE_INT32:
      return ValueKind::i32;
    case FieldDescriptor::TYPE_INT64:
      return ValueKind::i64;
    case FieldDescriptor::TYPE_BOOL:
      return ValueKind::boolean;
    case FieldDescriptor::TYPE_STRING:
      return ValueKind::text;
    case FieldDescriptor::TYPE_BYTES:
      return ValueKind::bytes;
    case FieldDescriptor::TYPE_ENUM:
      return ValueKind::word;
    case FieldDescriptor::TYPE_MESSAGE:
      return ValueKind::message;
    default:
      check_failed("a known field type", __FILE__, __LINE__, "the schema uses a type that has no rule in JSON");
  }
}

struct Schema {
  std::vector<MessagePlan> messages;  // place = the descriptor's index in its file
  std::list<EnumPlan> enums;
  std::map<std::string_view, const MessagePlan*> by_name;

  Schema() {
    const auto& file = *v1::ClientFrame::descriptor()->file();
    std::map<const EnumDescriptor*, const EnumPlan*> words;
    for (int i = 0; i < file.enum_type_count(); ++i)
      words[file.enum_type(i)] = &enums.emplace_back(make_enum_plan(*file.enum_type(i)));
    messages.resize(static_cast<std::size_t>(file.message_type_count()));
    for (int i = 0; i < file.message_type_count(); ++i) {
      const Descriptor& source = *file.message_type(i);
      MessagePlan& plan = messages[static_cast<std::size_t>(i)];
      TM_CHECK(source.nested_type_count() == 0 && source.enum_type_count() == 0, "the schema nests a type");
      TM_CHECK(source.field_count() <= 64, "a message of the schema has more than 64 fields");
      plan.descriptor = &source;
      plan.name = source.name();
      for (int f = 0; f < source.field_count(); ++f) plan.fields.push_back(make_field(*source.field(f), words));
      for (int o = 0; o < source.oneof_decl_count(); ++o) plan.oneofs.push_back(source.oneof_decl(o));
      for (std::size_t f = 0; f < plan.fields.size(); ++f) {
        const ValueKind kind = plan.fields[f].kind;
        const bool plain = kind != ValueKind::message && kind != ValueKind::text && kind != ValueKind::word;
        if (!plain && plan.fields[f].oneof < 0) plan.checked.push_back(f);
      }
      by_name.emplace(plan.name, &plan);
    }
  }

  FieldPlan make_field(const FieldDescriptor& field, std::map<const EnumDescriptor*, const EnumPlan*>& words) {
    FieldPlan plan;
    plan.descriptor = &field;
    plan.name = field.name();
    plan.key = fmt::format("\"{}\":", field.name());
    plan.kind = kind_of(field);
    plan.repeated = field.is_repeated();
    if (field.containing_oneof()) plan.oneof = field.containing_oneof()->index();
    if (plan.kind == ValueKind::word) plan.words = words.at(field.enum_type());
    if (plan.kind == ValueKind::message)
      plan.message = &messages[static_cast<std::size_t>(field.message_type()->index())];
    return plan;
  }
};

const Schema& schema() {
  static const Schema instance;
  return instance;
}

/// The longest front of at most `limit` bytes that does not cut a character.
std::string_view cut_text(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

void append_path(const Place* place, std::string& out) {
  if (!place) return;
  append_path(place->up, out);
  if (place->name.empty()) {
    out += fmt::format("[{}]", place->index);
  } else {
    if (!out.empty()) out += '.';
    out += cut_text(place->name, 64);
  }
}

}  // namespace

const std::string* EnumPlan::word_of(int number) const {
  for (const auto& [value, word] : words)
    if (value == number) return &word;
  return nullptr;
}

const int* EnumPlan::number_of(std::string_view word) const {
  for (const auto& [value, known] : words)
    if (known == word) return &value;
  return nullptr;
}

std::string EnumPlan::list() const {
  std::string text;
  for (const auto& [value, word] : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

const FieldPlan* MessagePlan::find(std::string_view field, std::size_t hint) const {
  if (hint < fields.size() && fields[hint].name == field) return &fields[hint];
  for (const FieldPlan& plan : fields)
    if (plan.name == field) return &plan;
  return nullptr;
}

const MessagePlan& plan_of(const google::protobuf::Message& message) {
  const Descriptor* descriptor = message.GetDescriptor();
  const auto& plans = schema().messages;
  const auto index = static_cast<std::size_t>(descriptor->index());
  TM_CHECK(index < plans.size() && plans[index].descriptor == descriptor, "the message is not of the schema");
  return plans[index];
}

const MessagePlan* plan_named(std::string_view name) {
  const auto& names = schema().by_name;
  const auto found = names.find(name);
  return found == names.end() ? nullptr : found->second;
}

const std::vector<MessagePlan>& all_plans() {
  return schema().messages;
}

std::string path_of(const Place* place) {
  std::string path;
  append_path(place, path);
  return path;
}

}  // namespace tidemark
