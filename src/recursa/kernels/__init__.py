"""From plans to native code: the scalar graph, LLVM, and the choice between compiled and interpreted runs."""
