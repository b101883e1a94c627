// A precompiled header belongs to a program, which does nothing: GoogleTest's, and that of the examples.
int main() {}
