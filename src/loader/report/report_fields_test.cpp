#include "loader/report/report_fields.h"

#include <gtest/gtest.h>

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace headrace {

/// What any member may be made of, except by copies of its struct.
template <class S>
struct AnyMemberOf {
  template <class T>
  requires(!std::same_as<T, S>) operator T() const;  // NOLINT(google-explicit-constructor)
};

template <class S, std::size_t... kPlace>
constexpr bool can_hold(std::index_sequence<kPlace...>) {
  return requires {
    S{(static_cast<void>(kPlace), AnyMemberOf<S>{})...};
  };
}

/// Return the number of a struct's members.
template <class S, std::size_t kCount = 0>
constexpr std::size_t members_of() {
  if constexpr (can_hold<S>(std::make_index_sequence<kCount + 1>()))
    return members_of<S, kCount + 1>();
  else
    return kCount;
}

namespace {

TEST(ReportFields, AllAreListed) {
  EXPECT_EQ(spec<Report>().members().size(), members_of<Report>());
  EXPECT_EQ(spec<Report::Stage>().members().size(), members_of<Report::Stage>());
  EXPECT_EQ(spec<Report::Memory>().members().size(), members_of<Report::Memory>());
  EXPECT_EQ(spec<Report::RowSums>().members().size(), members_of<Report::RowSums>());
  EXPECT_EQ(spec<Report::Cache>().members().size(), members_of<Report::Cache>());
  EXPECT_EQ(spec<Report::Mixing>().members().size(), members_of<Report::Mixing>());
  EXPECT_EQ(spec<Report::DecodeOnce>().members().size(), members_of<Report::DecodeOnce>());
  EXPECT_EQ(spec<Report::ToDevice>().members().size(), members_of<Report::ToDevice>());
}

TEST(ReportFields, JsonHasEachAlsoWhereItIsEmpty) {
  Report report;
  report.stages.push_back({"read", 1.5, 2, 3});
  report.cache.coding = "LZ4 \xff";
  const auto json = nlohmann::json::parse(report.json());
  for (const Member& field : spec<Report>().members())
    EXPECT_TRUE(json.contains(std::string(field.name))) << field.name;
  EXPECT_EQ(json["verdict"], "");
  EXPECT_EQ(json["slow_fields"], nlohmann::json::array());
  EXPECT_EQ(json["stages"], nlohmann::json::parse(R"({"read": {"seconds": 1.5, "count": 2, "bytes": 3}})"));
  EXPECT_EQ(json["memory"].size(), spec<Report::Memory>().members().size());
  EXPECT_EQ(json["memory"]["peak_bytes"], 0);
  EXPECT_EQ(json["cache"]["coding"], "LZ4 \xef\xbf\xbd") << "bytes that are no UTF-8";
  EXPECT_EQ(json["cache"]["complete"], false);
  EXPECT_TRUE(json["to_device"].is_null());
  EXPECT_EQ(json["samples_per_second"], 0.0);
}

}  // namespace
}  // namespace headrace
