#include "apps/bench/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tidemark::bench {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 460;
constexpr double kLeft = 76;
constexpr double kRight = 24;
constexpr double kTop = 64;
constexpr double kBottom = 56;
constexpr double kLegendLine = 18;
constexpr double kLegendGap = 30;
constexpr double kNines = 4;  // the right edge is p99.99
constexpr const char* kColours[] = {"#0b6e99", "#d1495b", "#2e8b57", "#b8860b",
                                    "#6a4c93", "#475569", "#c2410c", "#0f766e"};
constexpr double kMarkedPercents[] = {0, 50, 90, 99, 99.9, 99.99};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char each : text) {
    if (each == '&')
      out += "&amp;";
    else if (each == '<')
      out += "&lt;";
    else
      out += each;
  }
  return out;
}

class Picture {
 public:
  Picture(const std::vector<Latency>& latencies, const Machine& machine) : latencies_(latencies), machine_(machine) {
    double least = 1e9;
    double most = 0;
    for (const Latency& each : latencies) {
      least = std::min(least, ms_at(each, 0));
      most = std::max(most, ms_at(each, 100));
    }
    low_ = std::floor(std::log10(std::max(least, 1e-3)));
    high_ = std::max(std::ceil(std::log10(std::max(most, 1e-3))), low_ + 1);
  }

  std::string draw() {
    begin();
    grid();
    for (std::size_t i = 0; i < latencies_.size(); ++i) curve(i);
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  static double ms_at(const Latency& latency, double percent) {
    return std::max(1e-3, static_cast<double>(latency.histogram.percentile_ns(percent)) / 1e6);
  }
  static double x_of(double percent) {
    const double nines = percent >= 100 ? kNines : std::min(kNines, -std::log10(1 - percent / 100));
    return kLeft + (kWidth - kLeft - kRight) * nines / kNines;
  }
  double y_of(double ms) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * (std::log10(ms) - low_) / (high_ - low_);
  }
  template <typename... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Parts>(parts)...);
    out_ += '\n';
  }

  void begin() {
    const double height = kHeight + kLegendGap + kLegendLine * static_cast<double>(latencies_.size());
    add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="12">)",
        kWidth, height);
    add(R"(<rect width="100%" height="100%" fill="#ffffff"/>)");
    add(R"(<text x="{}" y="26" font-size="17" font-weight="bold" fill="#1f2937">Latency by percentile</text>)", kLeft);
    add(R"(<text x="{}" y="46" fill="#6b7280">{}</text>)", kLeft,
        escaped(fmt::format("{} x {}, {}, commit {}, {}", machine_.processors, machine_.processor, machine_.file_system,
                            machine_.commit, machine_.time.substr(0, 10))));
  }

  void grid() {
    for (double decade = low_; decade <= high_; ++decade)
      for (const int digit : {1, 2, 5}) {
        const double ms = digit * std::pow(10.0, decade);
        if (std::log10(ms) > high_ + 1e-9) break;
        const double y = y_of(ms);
        add(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="{}"/>)", kLeft, y, kWidth - kRight, y,
            digit == 1 ? "#cbd5e1" : "#eef2f6");
        add(R"(<text x="{}" y="{:.1f}" text-anchor="end" fill="#374151">{:g}</text>)", kLeft - 8, y + 4, ms);
      }
    for (const double percent : kMarkedPercents) {
      const double x = x_of(percent);
      add(R"(<line x1="{:.1f}" y1="{}" x2="{:.1f}" y2="{}" stroke="#e2e8f0"/>)", x, kTop, x, kHeight - kBottom);
      add(R"(<text x="{:.1f}" y="{}" text-anchor="middle" fill="#374151">{}</text>)", x, kHeight - kBottom + 18,
          percent == 0 ? std::string("min") : fmt::format("p{:g}", percent));
    }
    add(R"(<text x="{}" y="{}" text-anchor="middle" fill="#374151">percentile (each step holds a tenth of what lies beyond the one before)</text>)",
        (kLeft + kWidth - kRight) / 2, kHeight - 14);
    add(R"svg(<text transform="translate(20,{}) rotate(-90)" text-anchor="middle" fill="#374151">milliseconds</text>)svg",
        (kTop + kHeight - kBottom) / 2);
  }

  void curve(std::size_t i) {
    const Latency& latency = latencies_[i];
    const char* colour = kColours[i % std::size(kColours)];
    const char* dashes = i < std::size(kColours) ? "none" : "5 3";
    std::string points;
    constexpr int kSteps = 160;
    for (int step = 0; step <= kSteps; ++step) {
      const double percent = 100 * (1 - std::pow(10.0, -kNines * step / kSteps));
      // Beyond what the count can tell there is nothing to draw.
      if (static_cast<double>(latency.histogram.count()) * (1 - percent / 100) < 1 && step > 0) break;
      points += fmt::format("{:.1f},{:.1f} ", x_of(percent), y_of(ms_at(latency, percent)));
    }
    add(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2" stroke-dasharray="{}"/>)", points, colour,
        dashes);
    const std::uint64_t count = latency.histogram.count();
    const bool few = count < 100;  // too few for a p99
    const double y = kHeight + kLegendGap / 2 + kLegendLine * static_cast<double>(i);
    add(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="3" stroke-dasharray="{}"/>)", kLeft, y - 4,
        kLeft + 26, y - 4, colour, dashes);
    add(R"(<text x="{}" y="{}" fill="#1f2937">{}</text>)", kLeft + 34, y,
        escaped(fmt::format("{}: {} (p50 {:.2f} ms, {} {:.2f} ms, {} samples)", latency.work, latency.text,
                            ms_at(latency, 50), few ? "worst" : "p99", ms_at(latency, few ? 100 : 99), count)));
  }

  const std::vector<Latency>& latencies_;
  const Machine& machine_;
  double low_ = 0;  // powers of ten
  double high_ = 1;
  std::string out_;
};

}  // namespace

std::string latency_picture(const Report& report, const Machine& machine) {
  if (report.latencies().empty()) return {};
  return Picture(report.latencies(), machine).draw();
}

}  // namespace tidemark::bench
