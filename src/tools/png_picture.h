// PNG pictures in grey: what any browser and notebook shows. Source: W3C, Portable Network Graphics, third edition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace headrace {

/// Return the bytes of a picture. \param grey  0 is black, 255 white; `width` a row. Errors: those of encode_chunk().
Result<std::string> png_picture(std::span<const std::uint8_t> grey, std::uint32_t width);

}  // namespace headrace
