"""The native core: C++20 sources, and the extension module `_core` built from them."""
