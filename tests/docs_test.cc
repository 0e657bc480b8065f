// What the documents promise, held against the sources they describe.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gateway/service.h"
#include "tidemark.pb.h"
#include "wire/routes.h"

namespace tidemark::testing {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

const fs::path kRoot = TIDEMARK_SOURCE_DIR;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " cannot be read";
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

/// The cells of a row of a Markdown table, without the marks of code; nothing for any other line.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  if (!line.starts_with('|')) return cells;
  line.remove_prefix(1);
  while (!line.empty()) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) break;
    std::string cell = trimmed(line.substr(0, bar));
    std::erase(cell, '`');
    cells.push_back(std::move(cell));
    line.remove_prefix(bar + 1);
  }
  return cells;
}

bool is_rule(const std::vector<std::string>& cells) {
  return !cells.empty() && cells.front().starts_with("---");
}

/// The lines between a heading and the next heading of any level.
std::vector<std::string> under_heading(const std::vector<std::string>& lines, std::string_view heading) {
  auto from = std::ranges::find(lines, heading);
  if (from == lines.end()) return {};
  ++from;
  const auto to = std::find_if(from, lines.end(), [](const std::string& line) { return line.starts_with('#'); });
  return {from, to};
}

/// The rows of the first table among the lines, without its head.
std::vector<std::vector<std::string>> first_table(const std::vector<std::string>& lines) {
  std::vector<std::vector<std::string>> rows;
  bool in_body = false;
  for (const std::string& line : lines) {
    auto cells = cells_of(line);
    if (cells.empty() && in_body) break;
    if (in_body) rows.push_back(std::move(cells));
    in_body = in_body || is_rule(cells);
  }
  return rows;
}

const std::vector<std::string>& protocol_lines() {
  static const std::vector<std::string> lines = lines_of(read_text(kRoot / "docs" / "protocol.md"));
  return lines;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The type of a field as the document writes it.
std::string type_of(const FieldDescriptor& field) {
  std::string type = field.is_repeated() ? "list of " : "";
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
      return type + std::string(field.message_type()->name());
    case FieldDescriptor::TYPE_ENUM:
      return type + std::string(field.enum_type()->name());
    default:
      return type + field.type_name();
  }
}

/// The words of an enum with their numbers, as the document writes them: KIND_MESSAGE = 1 is "message 1".
std::vector<std::string> words_of(const EnumDescriptor& type) {
  std::string prefix;
  for (const char c : std::string(type.name())) {
    if (std::isupper(static_cast<unsigned char>(c)) && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  prefix += '_';
  std::vector<std::string> words;
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string name(type.value(i)->name());
    EXPECT_TRUE(name.starts_with(prefix)) << name;
    words.push_back(lower(name.substr(prefix.size())) + " " + std::to_string(type.value(i)->number()));
  }
  return words;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(trimmed(part));
  return parts;
}

const FileDescriptor& schema() {
  return *v1::ClientFrame::descriptor()->file();
}

struct ErrorRow {
  std::string name;
  int number;
  int http;
  bool retryable;
  std::string sentence;
};

std::vector<ErrorRow> error_rows() {
  return {
#define TIDEMARK_ERROR(name, number, http, retryable, english, chinese) {#name, number, http, retryable, english},
#include "errors.def"
#undef TIDEMARK_ERROR
  };
}

TEST(DocsProtocol, ErrorTableIsThatOfErrorsDef) {
  std::vector<std::vector<std::string>> expected;
  for (const ErrorRow& row : error_rows())
    expected.push_back(
        {row.name, std::to_string(row.number), std::to_string(row.http), row.retryable ? "yes" : "no", row.sentence});
  std::vector<std::vector<std::string>> found = first_table(under_heading(protocol_lines(), "## 16. Errors"));
  for (auto& cells : found) {
    ASSERT_EQ(cells.size(), 6u) << "code, number, HTTP, retryable, sentence, note: " << cells.front();
    cells.pop_back();
  }
  EXPECT_THAT(found, ElementsAreArray(expected));
}

TEST(DocsProtocol, EveryMessageHasASectionWithItsFieldsAndTypes) {
  for (int i = 0; i < schema().message_type_count(); ++i) {
    const Descriptor& message = *schema().message_type(i);
    const std::string name(message.name());
    std::vector<std::vector<std::string>> expected;
    for (int k = 0; k < message.field_count(); ++k)
      expected.push_back({std::string(message.field(k)->name()), type_of(*message.field(k))});
    std::vector<std::vector<std::string>> found = first_table(under_heading(protocol_lines(), "### " + name));
    for (auto& cells : found) {
      ASSERT_EQ(cells.size(), 3u) << "field, type, meaning: " << name << '.' << cells.front();
      cells.pop_back();
    }
    EXPECT_THAT(found, ElementsAreArray(expected)) << "the fields of " << name << " in their order";
  }
}

TEST(DocsProtocol, EverySectionOfTheSchemaIsAMessageThatExists) {
  std::set<std::string> known;
  for (int i = 0; i < schema().message_type_count(); ++i) known.emplace(schema().message_type(i)->name());
  std::vector<std::string> unknown;
  for (const std::string& line : protocol_lines())
    if (line.starts_with("### ") && !known.contains(line.substr(4))) unknown.push_back(line);
  EXPECT_THAT(unknown, IsEmpty());
}

TEST(DocsProtocol, EveryEnumIsThereWithAllItsWords) {
  std::map<std::string, std::vector<std::string>> found;
  for (const auto& cells : first_table(under_heading(protocol_lines(), "## 21. The schema, field by field"))) {
    ASSERT_EQ(cells.size(), 2u);
    found[cells[0]] = split_list(cells[1]);
  }
  std::map<std::string, std::vector<std::string>> expected;
  for (int i = 0; i < schema().enum_type_count(); ++i)
    expected[std::string(schema().enum_type(i)->name())] = words_of(*schema().enum_type(i));
  EXPECT_EQ(found, expected);
}

/// The rule by operation, and the frames named.
struct OnceRules {
  std::map<std::string, std::string> rules;
  std::set<std::string> frames;

  OnceRules() {
    for (const auto& cells : first_table(under_heading(protocol_lines(), "#### Doing it once"))) {
      if (cells.size() != 3u) continue;
      rules[cells[0]] = cells[2];
      frames.insert(cells[1].substr(0, cells[1].find('.')));
    }
  }
};

TEST(DocsProtocol, EveryHttpOperationIsInTheTableAndNoOther) {
  std::set<std::string> told;
  for (const auto& cells : first_table(under_heading(protocol_lines(), "## 15. HTTP")))
    told.insert(cells[0].substr(0, cells[0].find('?')));
  for (const Route& route : routes()) {
    if (route.auth == RouteAuth::none) continue;
    const std::string name = std::string(route.method) + ' ' + std::string(route.path);
    EXPECT_EQ(told.erase(name), 1u) << name;
  }
  EXPECT_THAT(told, ::testing::ElementsAre("GET /healthz · /readyz · /metrics · /v1/openapi.json"));
}

TEST(DocsProtocol, EveryOperationThatChangesSomethingSaysWhatKeepsItFromBeingDoneTwice) {
  OnceRules told;
  for (const Route& route : routes()) {
    const std::string name(route.operation_id);
    if (route.method == "GET") continue;
    ASSERT_TRUE(told.rules.contains(name)) << name;
    const std::string& rule = told.rules[name];
    EXPECT_TRUE(rule == "client_msg_id" || rule == "Idempotency-Key" || rule.starts_with("by itself: ")) << rule;
    EXPECT_EQ(route.takes_idempotency_key, rule == "Idempotency-Key") << name;
    told.rules.erase(name);
  }
  EXPECT_THAT(told.rules, IsEmpty()) << "operations that do not exist";
}

TEST(DocsProtocol, EveryFrameThatChangesSomethingIsInTheTableOfOnce) {
  const OnceRules told;
  const auto& operations = *v1::ClientFrame::descriptor()->FindOneofByName("operation");
  for (int i = 0; i < operations.field_count(); ++i) {
    v1::ClientFrame frame;
    frame.GetReflection()->MutableMessage(&frame, operations.field(i));
    const std::string name(operations.field(i)->name());
    if (Service::changes(frame)) EXPECT_TRUE(told.frames.contains(name)) << name;
  }
}

// -------------------------------------------------------------------------------------------------------- links

std::vector<fs::path> documents() {
  std::vector<fs::path> found;
  for (const char* name : {"README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md"})
    found.push_back(kRoot / name);
  for (const auto& entry : fs::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

/// The document without its blocks of code, where brackets are no links.
std::string without_code(const std::string& text) {
  std::string prose;
  bool in_code = false;
  for (const std::string& line : lines_of(text)) {
    const bool fence = trimmed(line).starts_with("```");
    in_code = in_code != fence;
    if (!in_code && !fence) prose.append(line).append("\n");
  }
  return prose;
}

/// Targets of [text](target), ![text](target), and of src and href in HTML.
std::vector<std::string> links_of(const std::string& text) {
  static const std::regex kLink(R"re(\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)")re");
  std::vector<std::string> targets;
  for (std::sregex_iterator it(text.begin(), text.end(), kLink), end; it != end; ++it)
    targets.push_back((*it)[1].matched ? (*it)[1] : (*it)[2]);
  return targets;
}

bool is_local(const std::string& target) {
  return !target.starts_with("http://") && !target.starts_with("https://") && !target.starts_with("mailto:");
}

/// The anchor that a heading gets: lower case, blanks to hyphens, everything but letters, digits, - and _ dropped.
/// Bytes beyond ASCII stay.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') {
      anchor += '-';
    } else if (byte >= 0x80 || std::isalnum(byte) || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(byte));
    }
  }
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& document) {
  std::set<std::string> anchors;
  for (const std::string& line : lines_of(without_code(read_text(document)))) {
    const std::size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    anchors.insert(anchor_of(trimmed(std::string_view(line).substr(text))));
  }
  return anchors;
}

TEST(DocsLinks, EveryLocalLinkLeadsToAFileThatExists) {
  for (const fs::path& document : documents()) {
    for (const std::string& target : links_of(without_code(read_text(document)))) {
      if (!is_local(target) || target.starts_with('#')) continue;
      const fs::path file = document.parent_path() / target.substr(0, target.find('#'));
      EXPECT_TRUE(fs::exists(file)) << document.filename() << " links to " << target;
    }
  }
}

TEST(DocsLinks, EveryLinkIntoADocumentLeadsToAHeading) {
  for (const fs::path& document : documents()) {
    for (const std::string& target : links_of(without_code(read_text(document)))) {
      const std::size_t hash = target.find('#');
      if (!is_local(target) || hash == std::string::npos) continue;
      const fs::path file = hash == 0 ? document : document.parent_path() / target.substr(0, hash);
      if (file.extension() != ".md" || !fs::exists(file)) continue;
      EXPECT_TRUE(anchors_of(file).contains(target.substr(hash + 1))) << document.filename() << " links to " << target;
    }
  }
}

TEST(DocsLinks, LinksAreFoundInProseAndNotInCode) {
  const std::string text =
      "See [a](b.md) and ![c](d.svg \"title\"), <img src=\"e.png\">\n```\n[not](a-link)\n```\n[f](#g)\n";
  EXPECT_THAT(links_of(without_code(text)), ::testing::ElementsAre("b.md", "d.svg", "e.png", "#g"));
  EXPECT_EQ(anchor_of("8. Pushes, acks, hints, heartbeats"), "8-pushes-acks-hints-heartbeats");
}

}  // namespace
}  // namespace tidemark::testing
