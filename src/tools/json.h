// JSON of the tools: keys in the order they were put in, and text that is not UTF-8 made harmless.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace headrace {

using Json = nlohmann::ordered_json;

inline std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

inline Json error_json(const Error& error) {
  Json json;
  json["code"] = to_string(error.code());
  json["message"] = error.message();
  if (!error.file().empty()) json["file"] = error.file();
  if (!error.field().empty()) json["field"] = error.field();
  if (!error.chunk().empty()) json["chunk"] = error.chunk();
  if (error.bytes().size != 0) json["bytes"] = {{"offset", error.bytes().offset}, {"size", error.bytes().size}};
  if (!error.stage().empty()) json["stage"] = error.stage();
  if (!error.hint().empty()) json["hint"] = error.hint();
  json["text"] = error.what();
  return json;
}

}  // namespace headrace
