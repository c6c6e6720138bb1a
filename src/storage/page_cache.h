// Which file systems keep what was read of their files in the system's page cache. Most do; some that are mounted
// through FUSE, or with an option like "direct", do not: there each read of the same bytes goes to the server again.
#pragma once

#include <cstdint>
#include <string>

namespace headrace {

/// Return true if reads of files on a device are kept, as far as is known of it: true where nothing is. Threads: any.
/// \param device  FileFingerprint::device.
bool keeps_pages(std::uint64_t device);

/// Find out whether reads are kept on the file system that a file is on, if that is shared over a network and was not
/// looked at before: its first bytes are read three times. \return As keeps_pages(). Errors are no answer: true.
/// Blocks.
bool learn_whether_pages_are_kept(const std::string& path);

/// Say so instead, of a device: tests have no such file system.
void note_whether_pages_are_kept(std::uint64_t device, bool kept);

}  // namespace headrace
