// The OpenAPI document of the HTTP operations.
#pragma once

#include <string>
#include <string_view>

namespace tidemark {

struct OpenapiInfo {
  std::string_view version = "0.1.0";  // of the server
  std::string_view server_url = "/";   // where the operations live, as the client sees it
};

/// The document (OpenAPI 3.1.0) as JSON text, made from the route table, the schema's descriptors and the error table:
/// what they say is what it says. Pure; thread-safe.
std::string openapi_json(const OpenapiInfo& info = {});

}  // namespace tidemark
