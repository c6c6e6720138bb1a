#include "dataset/facts/data_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "assembly/copying/finisher.h"
#include "base/random/philox.h"
#include "storage/file_system.h"

namespace headrace {
namespace {

constexpr std::uint64_t kStretchBytes = 512;                             // one sector; systems read a page
constexpr std::uint64_t kMostStretches = 256, kMostStretchesOfFile = 8;  // some milliseconds, also on network storage
constexpr std::uint64_t kTextForm = 2;  // text is padded with NULs; caches of 1 have what HDF5 files pad it with
constexpr std::size_t kDigits = 8;      // of one hash

RandomKey with_text(RandomKey key, std::string_view text) {
  for (const char c : text) key = key.with(static_cast<unsigned char>(c));
  return key.with(text.size());
}

std::uint32_t shortened(const RandomKey& key) {
  return static_cast<std::uint32_t>(key.low ^ (key.low >> 32));
}

std::uint64_t with_bytes(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u + (hash >> 29);
  return hash;
}

/// Hash of the first bytes of `count` stored pieces, taken from the file's arrays in turn, evenly over its rows.
std::uint64_t sample_bytes(const SourceFile& file, std::uint64_t count) {
  std::uint64_t hash = count;
  std::array<std::byte, kStretchBytes> bytes;
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < count && file.rows > 0; ++i) {
    const ArrayReader& array = *file.arrays[i % file.arrays.size()];
    pieces.clear();
    if (!array.locate({file.rows / count * i + file.rows % count * i / count, 1}, pieces).ok() || pieces.empty())
      continue;
    const FileRange& stored = pieces[0].stored;
    if (stored.range.size == 0) continue;
    const std::span<std::byte> stretch = std::span(bytes).first(std::min(kStretchBytes, stored.range.size));
    if (!stored.file->read_at(stored.range.offset, stretch).ok())
      std::fill(stretch.begin(), stretch.end(), std::byte{0});
    hash = with_bytes(hash, stretch);
  }
  return hash;
}

/// Hash of some bytes of a file that arrays read beside their own; of its size if it cannot be read.
std::uint64_t sample_other(const OutsideFile& other, std::uint64_t count) {
  const std::uint64_t size = other.fingerprint.size_bytes;
  std::uint64_t hash = size;
  const auto file = FileSystem::of(other.path).open(other.path);
  if (!file.ok()) return hash;
  std::array<std::byte, kStretchBytes> bytes;
  for (std::uint64_t i = 1; i <= count; ++i) {
    const std::uint64_t offset = size / (count + 1) * i;
    const std::span<std::byte> stretch = std::span(bytes).first(std::min(kStretchBytes, size - offset));
    if (!(*file)->read_at(offset, stretch).ok()) return hash;
    hash = with_bytes(hash, stretch);
  }
  return hash;
}

}  // namespace

std::string hash_of(const SampleSource& of, const BlockLayout& layout) {
  if (const MappedSource* const mapped = of.mapped()) {
    RandomKey key = with_text(RandomKey::of({5, mapped->map->shuffle_blocks()->num_rows()}), mapped->identity);
    for (const SourceGroup& group : mapped->groups) key = with_text(key, hash_of(group.source, group.layout));
    if (const RowSet* const chosen = mapped->map->shuffle_blocks()->chosen().get())
      for (const std::uint64_t word : chosen->words()) key = key.with(word);
    return fmt::format("{:016x}", key.low);
  }
  const Source& source = *of.rows();
  RandomKey key = RandomKey::of({source.files.size(), source.columns->size()});
  for (std::size_t f = 0; f < source.files.size(); ++f)
    key = key.with(source.files[f].rows).with(layout.files[f].block_rows);
  for (const SourceFile& file : source.files)
    for (const std::uint64_t extent : file.axes) key = key.with(extent);
  for (const StoredColumn& field : *source.columns) {
    for (const char c : field.name + '/' + field.dtype.name()) key = key.with(static_cast<unsigned char>(c));
    for (const std::uint64_t n : field.shape) key = key.with(n);
    if (field.dtype.kind == DType::Kind::kBytes) key = key.with(kTextForm);
  }
  for (std::size_t c = 0; c < source.places.size(); ++c)  // filled rows are other rows, to a cache too
    for (const SourceFile& file : source.files)
      if (file.arrays[source.places[c].array]->info().is_filled) key = key.with(c);
  if (source.chosen)
    for (const std::uint64_t word : source.chosen->words()) key = key.with(word);
  return fmt::format("{:016x}", key.low);
}

std::string DataIdentity::text() const {
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", rows, names, contents, files);
}

std::optional<DataIdentity> DataIdentity::parse(std::string_view text) {
  DataIdentity made;
  if (text.size() != 4 * kDigits) return std::nullopt;
  for (std::uint32_t* part : {&made.rows, &made.names, &made.contents, &made.files}) {
    const std::string_view digits = text.substr(0, kDigits);
    const char* const last = std::to_address(digits.end());
    const auto [end, error] = std::from_chars(std::to_address(digits.begin()), last, *part, 16);
    if (error != std::errc() || end != last) return std::nullopt;
    text.remove_prefix(kDigits);
  }
  return made;
}

DataIdentity identify(const SampleSource& source, const BlockLayout& layout) {
  DataIdentity made;
  RandomKey rows = with_text(RandomKey::of({0}), hash_of(source, layout));
  if (const Program* const program = source.program()) rows = with_text(rows, program->identity());
  if (source.finisher()) rows = with_text(rows, source.finisher()->identity());
  made.rows = shortened(rows);
  std::vector<const SourceFile*> files;
  for (const Source* stored : source.stored())
    for (const SourceFile& file : stored->files) files.push_back(&file);
  const std::uint64_t num_files = files.size();
  const std::uint64_t stretches =
      std::clamp<std::uint64_t>(kMostStretches / std::max<std::uint64_t>(num_files, 1), 1, kMostStretchesOfFile);
  const std::uint64_t stride = num_files / kMostStretches + 1;  // of very many files, about one in so many
  const std::uint64_t most_others = std::max<std::uint64_t>(kMostStretches / std::max<std::uint64_t>(num_files, 1), 1);
  RandomKey names = RandomKey::of({1}), contents = RandomKey::of({2});
  for (std::uint64_t f = 0; f < num_files; ++f) {
    const SourceFile& file = *files[f];
    const std::string name = std::filesystem::path(file.path).filename().string();
    const std::uint64_t size = file.fingerprint.size_bytes;
    const bool sampled = shortened(with_text(RandomKey::of({4}), name)) % stride == 0;  // wherever it comes in the list
    const std::uint64_t sample = sampled ? sample_bytes(file, stretches) : 0;
    names = with_text(names, name);
    contents = contents.with(size).with(sample);
    RandomKey one = with_text(RandomKey::of({3, size, sample}), name);
    const auto add = [&](const std::string& path, std::uint64_t its_size) {
      const std::string its_name = std::filesystem::path(path).filename().string();
      names = with_text(names, its_name);
      contents = contents.with(its_size);
      one = with_text(one.with(its_size), its_name);
    };
    for (const CompanionFile& companion : file.companion_files)
      add(companion.path, companion.fingerprint.size_bytes);  // sampled above
    const std::vector<OutsideFile> others = other_files(file);
    const std::uint64_t other_stretches =
        std::clamp<std::uint64_t>(stretches / std::max<std::size_t>(others.size(), 1), 1, kMostStretchesOfFile);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const bool is_read = sampled && i % (others.size() / most_others + 1) == 0;
      const std::uint64_t its_sample = is_read ? sample_other(others[i], other_stretches) : 0;
      add(others[i].path, others[i].fingerprint.size_bytes);
      contents = contents.with(its_sample);
      one = one.with(its_sample);
    }
    made.files += shortened(one);
  }
  made.names = shortened(names);
  made.contents = shortened(contents);
  return made;
}

}  // namespace headrace
