// A project that knows Damo only as an installed package.
#if __has_include(<damo/damo.hpp>)
#include <damo/damo.hpp>
#endif

int main() {}
