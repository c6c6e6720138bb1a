// Volumes: arrays of files as volumes, and patches(): boxes of them as samples.
#pragma once

#include <headrace/dataset.h>
#include <headrace/whole_number.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// Opened volumes: each file is one, and has the same arrays. All arrays of a volume have one shape, or say where they
/// lie in the world; the first one's voxels are the volume's. Axes that have names lie over axes of the same name, or
/// else opening is an error. Volumes may differ in shape, not in their axes. A light handle: copies share the open
/// files. Threads: const members from any thread. Errors: every member throws headrace::Error.
class Volumes {
 public:
  struct Impl;
  explicit Volumes(std::shared_ptr<const Impl> impl);  ///< For the library: open_volumes() makes them.

  /// Return the number of volumes.
  [[nodiscard]] std::uint64_t size() const;
  /// Return their arrays, in the order of a batch. Their `dims` are empty: see shapes().
  [[nodiscard]] const std::vector<Field>& arrays() const;
  /// Return how each array is stored in the first file.
  [[nodiscard]] std::vector<FieldStorage> storage() const;
  /// Return the shape of each volume.
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& shapes() const;
  /// Return the file of each volume.
  [[nodiscard]] std::vector<std::string> files() const;
  /// Return a table for people.
  [[nodiscard]] std::string describe() const;

 private:
  friend struct VolumesInternals;
  std::shared_ptr<const Impl> impl_;
};

/// Open files as volumes. Reads metadata only. \param options  `fields` are the arrays; if empty: every array of the
/// first file, if they have one shape. `companion_files` and `progress` as for open(); the others must be left out.
/// Throws what open() throws, and kInvalidArgument for arrays of one volume that differ in shape, and volumes that
/// differ in their axes or types.
Volumes open_volumes(const std::vector<std::string>& paths, const OpenOptions& options = {});

/// What becomes of the last patch along an axis, where the volume is no multiple of the stride.
enum class PatchEdge : std::uint8_t {
  kShift,  ///< It moves inwards, so that it ends with the volume: each voxel is covered.
  kDrop,   ///< It is left out, if it would reach past the end.
  kFill,   ///< It reaches past the end, and `fill` is what lies there; "NAME.valid" tells which voxels there are.
};

/// How patches are drawn. Each by itself begins at every place of every volume with equal probability.
enum class PatchDraws : std::uint8_t {
  kVisits,       ///< Several near each other, which come in different batches: a chunk is decoded for all of them.
  kIndependent,  ///< Each without regard to the others.
};

/// A class of voxels that drawn patches are centred in.
struct PatchClass {
  std::string array;                      ///< Name of one of the volumes' arrays: labels.
  std::optional<WholeNumber> value = {};  ///< Voxels of this value; nullopt: those that are neither 0 nor NaN.
};

/// An array of other voxels than the volume's, of which each patch has a box about the same centre.
struct PatchContext {
  std::string array;                      ///< Name of one of the volumes' arrays.
  std::vector<std::uint64_t> shape = {};  ///< Extents of the box, in its own voxels; empty: those of the patch.
};

/// Which boxes are the samples of patches(). Exactly one of `samples_per_epoch` and `stride` is given.
struct PatchOptions {
  std::vector<std::uint64_t> shape;  ///< Voxels along each axis; one number is for all axes, here and in `stride`.
  /// Draw so many patches in each epoch: every possible start of every volume is equally likely, for each by itself.
  std::optional<std::uint64_t> samples_per_epoch = {};
  /// Voxels from the start of a patch to the start of the next, along each axis; empty: patches are drawn.
  std::vector<std::uint64_t> stride = {};
  PatchEdge edge = PatchEdge::kShift;      ///< What becomes of a grid's last patch along an axis.
  double fill = 0;                         ///< With PatchEdge::kFill, and with `context`.
  bool skip_small = false;                 ///< Leave out volumes that are smaller than a patch; else they are refused.
  PatchDraws draws = PatchDraws::kVisits;  ///< With `samples_per_epoch`.
  /// Draw as many patches for each of these classes, centred in blocks of at most 16 voxels a side (half a patch in
  /// huge volumes) that hold voxels of it, each block as likely as it has. Empty: every start is equally likely. Only
  /// for PatchDraws::kVisits.
  std::vector<PatchClass> balance = {};
  /// The arrays of other voxels, each of which must be named. What lies outside such an array is `fill`.
  std::vector<PatchContext> context = {};
};

/// Return a data set whose samples are boxes of the volumes: fields of `shape`. A grid's samples are numbered volume by
/// volume in C order. Drawn ones have no number outside an epoch: a Loader delivers them; slice(), take(), select() and
/// split() refuse them. No I/O, but for what tells where chunks lie; with `balance` all labels are read once, on every
/// processor, and what was counted is remembered in the user's cache directory.
/// Throws kInvalidArgument: another number of axes, a patch larger than a volume, which it names, a `fill` that an
/// array cannot hold.
Dataset patches(const Volumes& volumes, const PatchOptions& options);

}  // namespace headrace
