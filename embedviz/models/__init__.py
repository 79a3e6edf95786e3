"""Models: which there are, where their files lie, made ready once, and run.

In the order to read them: `spec` (what a model is); `files`, `gguf` and `describe` (what its files say of it);
`catalog` (which there are); `checks`, `disk`, `sources` and `conversion` (from its origin to files that load);
`prepare` (once a machine); `language_model` (loaded and run). `progress` is how each of them tells how far it is.
"""
