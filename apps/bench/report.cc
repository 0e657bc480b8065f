#include "apps/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_text.h"

namespace tidemark::bench {
namespace {

constexpr double kShownPercents[] = {0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 100};

std::string number(double value) {
  const double size = std::abs(value);
  if (size >= 1'000) return fmt::format("{:.0f}", value);
  if (size >= 100 || value == std::round(value))
    return fmt::format("{:.{}f}", value, value == std::round(value) ? 0 : 1);
  return fmt::format("{:.{}f}", value, size >= 10 ? 1 : 2);
}

/// 12345 as "12,345".
std::string grouped(double value) {
  std::string text = number(value);
  for (std::size_t end = std::min(text.find('.'), text.size()); end > 3 && text[end - 4] != '-'; end -= 3)
    text.insert(end - 3, ",");
  return text;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// "[10 to 12 in 5 runs]"
std::string spread_of(const Figure& figure) {
  if (figure.values.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(figure.values);
  return fmt::format("[{} to {} in {} runs]", grouped(least), grouped(most), figure.values.size());
}

std::string verdict(const Figure& figure) {
  if (!figure.target) return "";
  const char* sign = figure.target->kind == Target::Kind::at_most ? "<=" : ">=";
  return fmt::format("{} {:<8} {}", sign, grouped(figure.target->value), figure.met() ? "met" : "MISSED");
}

std::string figure_json(const Figure& figure) {
  std::string target = "null";
  std::string kind = "null";
  if (figure.target) {
    target = fmt::format("{:.6g}", figure.target->value);
    kind = figure.target->kind == Target::Kind::at_most ? "\"at_most\"" : "\"at_least\"";
  }
  std::string values;
  for (const double each : figure.values) values += fmt::format("{}{:.6g}", values.empty() ? "" : ",", each);
  return fmt::format(
      R"({{"work":{},"key":{},"text":{},"value":{:.6g},"values":[{}],"unit":{},"target":{},"target_kind":{},"met":{}}})",
      json_string(figure.work), json_string(figure.key), json_string(figure.text), figure.value, values,
      json_string(figure.unit), target, kind, figure.met());
}

std::string latency_json(const Latency& latency) {
  std::string percentiles;
  for (const double percent : kShownPercents) {
    if (!percentiles.empty()) percentiles += ',';
    percentiles +=
        fmt::format("[{:g},{:.6f}]", percent, static_cast<double>(latency.histogram.percentile_ns(percent)) / 1e6);
  }
  return fmt::format(R"({{"work":{},"key":{},"text":{},"count":{},"percentiles_ms":[{}]}})", json_string(latency.work),
                     json_string(latency.key), json_string(latency.text), latency.histogram.count(), percentiles);
}

template <typename Range, typename Write>
std::string json_list(const Range& range, Write write) {
  std::string out = "[";
  for (const auto& each : range) {
    if (out.size() > 1) out += ',';
    out += "\n    " + write(each);
  }
  return out + (out.size() > 1 ? "\n  ]" : "]");
}

std::string parameters_json(const Options& options) {
  const auto quoted = [](const std::string& each) { return json_string(each); };
  const std::string settings = json_list(options.settings, quoted);
  return fmt::format(
      R"({{"works":{},"repeat":{},"own_server":{},"dialect":{},"seconds":{},"pairs":{},"in_flight":{},"text_bytes":{},"load":{:g},)"
      R"("rate":{:g},"backlog":{},"rounds":{},"fill":{},"large":{},"pages":{},"connections":{},)"
      R"("conversations":{},"listed":{},"online":{},"log_bytes":{},"settings":{}}})",
      json_list(options.works, quoted), options.repeat, options.url.empty(),
      json_string(options.dialect == Dialect::json ? "json" : "binary"), options.seconds, options.pairs,
      options.in_flight, options.text_bytes, options.load, options.rate, options.backlog, options.rounds, options.fill,
      options.large, options.pages, options.connections, options.conversations, options.listed, options.online,
      options.log_bytes, settings);
}

std::string machine_json(const Machine& machine) {
  return fmt::format(
      R"({{"system":{},"processor":{},"processors":{},"memory_bytes":{},"file_system":{},"load_before":{:.2f}}})",
      json_string(machine.system), json_string(machine.processor), machine.processors, machine.memory_bytes,
      json_string(machine.file_system), machine.load_before);
}

}  // namespace

void Report::begin_work(std::string work) {
  work_ = std::move(work);
  std::erase_if(remarks_, [&](const Remark& each) { return each.work == work_; });
}

void Report::figure(std::string key, std::string text, double value, std::string unit, std::optional<Target> target) {
  const auto known =
      std::ranges::find_if(figures_, [&](const Figure& each) { return each.work == work_ && each.key == key; });
  Figure& figure = known != figures_.end() ? *known : figures_.emplace_back();
  figure.work = work_;
  figure.key = std::move(key);
  figure.text = std::move(text);
  figure.unit = std::move(unit);
  figure.target = target;
  figure.values.push_back(value);
  figure.value = median_of(figure.values);
}

std::optional<double> Report::value(const std::string& work, const std::string& key) const {
  for (const Figure& each : figures_)
    if (each.work == work && each.key == key) return each.values.back();
  return std::nullopt;
}

void Report::latency(const std::string& key, const std::string& text, Histogram histogram, std::optional<Target> target,
                     double percent) {
  const auto add = [&](const std::string& tail, double value, bool judged) {
    std::string name = tail;
    std::erase(name, '.');
    figure(key + "_" + name, text + ", " + tail, value / 1e6, "ms", judged ? target : std::nullopt);
  };
  // A percentile wants some values beyond it; below that the worst says what there is.
  const std::uint64_t count = histogram.count();
  for (const double each : {50.0, 99.0, 99.9}) {
    if (static_cast<double>(count) * (100 - each) / 100 < 1) continue;
    add(fmt::format("p{:g}", each), static_cast<double>(histogram.percentile_ns(each)), each == percent);
  }
  const bool judge_worst = static_cast<double>(count) * (100 - percent) / 100 < 1;
  if (count < 1'000) add("worst", static_cast<double>(histogram.max_ns()), judge_worst);
  const auto known =
      std::ranges::find_if(latencies_, [&](const Latency& each) { return each.work == work_ && each.key == key; });
  if (known == latencies_.end())
    latencies_.push_back({work_, key, text, std::move(histogram)});
  else
    known->histogram.merge(histogram);
}

void Report::remark(std::string sentence) {
  remarks_.push_back({work_, std::move(sentence)});
}

std::string Report::table() const {
  std::size_t width = 0;
  for (const Figure& each : figures_)
    if (each.work == work_) width = std::max(width, each.text.size());
  std::string out = fmt::format("\n{}\n", work_);
  for (const Figure& each : figures_) {
    if (each.work != work_) continue;
    std::string line = fmt::format("  {:<{}}  {:>10} {:<8} {:<18} {}", each.text, width, grouped(each.value), each.unit,
                                   verdict(each), spread_of(each));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  for (const Remark& each : remarks_)
    if (each.work == work_) out += "  - " + each.sentence + "\n";
  return out;
}

std::string Report::json(const Options& options, const Machine& machine) const {
  return fmt::format(
      "{{\n  \"program\": \"tidemark-bench\",\n  \"commit\": {},\n  \"time\": {},\n  \"machine\": {},\n"
      "  \"parameters\": {},\n  \"figures\": {},\n  \"latencies\": {},\n  \"remarks\": {}\n}}\n",
      json_string(machine.commit), json_string(machine.time), machine_json(machine), parameters_json(options),
      json_list(figures_, figure_json), json_list(latencies_, latency_json),
      json_list(remarks_, [](const Remark& each) {
        return fmt::format(R"({{"work":{},"sentence":{}}})", json_string(each.work), json_string(each.sentence));
      }));
}

bool Report::all_met() const {
  return std::ranges::all_of(figures_, &Figure::met);
}

}  // namespace tidemark::bench
