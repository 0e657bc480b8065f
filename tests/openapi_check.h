// Holds answers against the OpenAPI document, as a strict reader of it would.
#pragma once

#include <string>
#include <string_view>

#include "wire/http_parser.h"

namespace tidemark::testing {

/// In what the answer to this request is not what the document says; "" when it is. An error may answer anything, also
/// what the document does not know.
std::string openapi_fault(std::string_view method, std::string_view target, const HttpResponse& response);

/// The same of any JSON text and a schema of the document, such as "Message".
std::string schema_fault(std::string_view schema, std::string_view json);

}  // namespace tidemark::testing
