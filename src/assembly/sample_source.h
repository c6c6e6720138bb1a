// SampleSource: what the samples of a data set are: rows of files, or samples that a map makes of rows or cells.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "assembly/mapped_source.h"
#include "assembly/source.h"

namespace headrace {

/// Where a field's bytes are stored.
struct ColumnPlace {
  const Source* source = nullptr;  ///< Null: nowhere, transforms make it of others.
  Source::ColumnPlace place = {};
  /// Return the array's description in the first file.
  [[nodiscard]] const ArrayInfo& info() const { return source->files[0].arrays[place.array]->info(); }
};

/// A handle: copies share what is behind them, which is immutable.
class SampleSource {
 public:
  SampleSource() = default;  ///< Null rows, until it is assigned.
  // NOLINTBEGIN(google-explicit-constructor): each kind of source is a source of samples
  SampleSource(std::shared_ptr<const Source> rows) : kind_(std::move(rows)) {}
  SampleSource(std::shared_ptr<Source> rows) : kind_(std::shared_ptr<const Source>(std::move(rows))) {}
  SampleSource(std::shared_ptr<const MappedSource> mapped) : kind_(std::move(mapped)) {}
  SampleSource(std::shared_ptr<MappedSource> mapped) : kind_(std::shared_ptr<const MappedSource>(std::move(mapped))) {}
  // NOLINTEND(google-explicit-constructor)

  /// Return the source whose rows are the samples; null where a map makes them.
  [[nodiscard]] const Source* rows() const { return shared_rows().get(); }
  [[nodiscard]] const std::shared_ptr<const Source>& shared_rows() const;
  /// Return the map's source; null where samples are rows.
  [[nodiscard]] const MappedSource* mapped() const;

  [[nodiscard]] const std::shared_ptr<const std::vector<Field>>& fields() const;
  /// Return what is done with batches in the end; null: nothing.
  [[nodiscard]] const Finisher* finisher() const;
  /// Return the shares of a mixture; null where the data set is none.
  [[nodiscard]] const SourceMixture* mixture() const { return (rows() ? rows()->mixture : mapped()->mixture).get(); }
  /// Return the transforms of the samples; null: none.
  [[nodiscard]] const Program* program() const { return (rows() ? rows()->program : mapped()->program).get(); }
  /// Return what the samples are, in messages: "rows", "windows".
  [[nodiscard]] std::string_view what() const { return rows() ? std::string_view("rows") : mapped()->what; }
  /// Return the stored bytes of a sample; of mapped ones on average.
  [[nodiscard]] std::uint64_t sample_bytes() const;
  /// Return the bytes that a sample takes in a slot; mapped ones on average.
  [[nodiscard]] std::uint64_t slot_sample_bytes() const;
  /// Return the sources that have files: the groups' of mapped samples, else the one of the rows.
  [[nodiscard]] std::vector<const Source*> stored() const;
  /// Return the path of the first file, for errors that concern the data set as a whole. Needs no memory.
  [[nodiscard]] const std::string& first_path() const {
    return (rows() ? *rows() : *mapped()->groups[0].source).files[0].path;
  }
  [[nodiscard]] ColumnPlace column_of(std::size_t field) const;
  /// Return what an order shuffles: `layout`'s blocks of rows, or the shuffle blocks of the map.
  [[nodiscard]] std::shared_ptr<const BlockTable> blocks(const BlockLayout& layout) const;

 private:
  std::variant<std::shared_ptr<const Source>, std::shared_ptr<const MappedSource>> kind_;
};

/// Return how the rows decode together; for mapped samples an empty layout: each of their groups has its own.
BlockLayout plan_layout(const SampleSource& source, std::uint64_t resident_limit_bytes);

}  // namespace headrace
