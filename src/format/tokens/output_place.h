// Where the files of an output lie until they get their names.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "format/tokens/token_output.h"

namespace headrace::token_files {

class OutputPlace {
 public:
  OutputPlace(std::string path, Unfinished unfinished);
  /// Remove what has not got its name, unless it is kept.
  ~OutputPlace();
  OutputPlace(const OutputPlace&) = delete;
  OutputPlace& operator=(const OutputPlace&) = delete;

  /// Errors: kInvalidArgument  something of the name is there.
  [[nodiscard]] Status check_free() const;
  /// Take the name away again from what an earlier process had finished, and the rest had not. \return True if it did.
  /// Errors: kInvalidArgument  something else has the name.
  [[nodiscard]] Result<bool> take_back() const;
  /// Give the name. Errors: kInvalidArgument  something of the name was made meanwhile; kWriteFailed.
  Status give();

  /// Return the error that something else has the name.
  [[nodiscard]] Error taken() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Return the name until then.
  [[nodiscard]] const std::string& working() const { return working_; }
  [[nodiscard]] bool is_kept() const { return is_kept_; }
  [[nodiscard]] bool is_given() const { return is_given_; }

 private:
  std::string path_, working_;
  bool is_kept_, is_given_ = false;
};

/// Return what an output that is kept is called until it is whole.
std::string kept_name(const std::string& path);
void remove_quietly(const std::string& path);

}  // namespace headrace::token_files
