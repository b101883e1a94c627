#pragma once
#error cooperative groups are not supported on the CPU yet
