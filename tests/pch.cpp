// The precompiled GoogleTest header belongs to this program, which does nothing.
int main() {}
