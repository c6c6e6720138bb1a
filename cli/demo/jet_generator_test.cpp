#include "demo/jet_generator.h"
#include <gtest/gtest.h>
