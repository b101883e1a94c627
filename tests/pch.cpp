// A precompiled header belongs to a target, which does nothing: the layers' has one, GoogleTest's, and that of the examples.
int main() {}
