#pragma once

namespace tidemark {
inline constexpr const char* kVersion = "tidemark 0.1.0";
}
