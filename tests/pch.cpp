// The precompiled GoogleTest header belongs to this file.
