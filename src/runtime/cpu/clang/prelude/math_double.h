#pragma once
#include "math_support.h"
