// Damo's version. CMakeLists.txt reads it from here.
#pragma once

#define DAMO_VERSION "0.1.0"
