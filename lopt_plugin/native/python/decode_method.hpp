// `decode` of an accelerated tokenizer: a method that asks the tokenizer's native decoder, without Python code in between.
#pragma once

#include "python/python_arguments.hpp"

namespace lopt {

class DecodeMethod {
  public:
    // The method; `otherwise` answers what the decoder does not, and has the same parameters.
    static nb::object made(nb::handle otherwise) {
        nb::list known;
        known.append(otherwise);
        for (const char* name : NAMES) known.append(nb::steal(PyUnicode_InternFromString(name)));
        static PyMethodDef definition{"decode", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)), METH_FASTCALL | METH_KEYWORDS,
                                      "decode(self, token_ids, skip_special_tokens=False, *args, **kwargs)\n--\n\n"
                                      "The text of ids, as transformers decodes them."};
        const nb::object function = checked(PyCFunction_New(&definition, nb::tuple(known).ptr()));
        return checked(PyInstanceMethod_New(function.ptr()));
    }

  private:
    // What the method knows: `otherwise`, then these names.
    enum Known { OTHERWISE, ENCODER, TOKENIZER, CLEANS_UP, BACKEND, DECODING, DECODE, SKIPS };
    static constexpr const char* NAMES[] = {"_lopt_encoder", "_tokenizer", "clean_up_tokenization_spaces", "_backend", "_decoding", "decode", "skip_special_tokens"};

    static nb::object checked(PyObject* made) {
        if (!made) throw nb::python_error();
        return nb::steal(made);
    }
    // The arguments are self, the ids and whether to skip special tokens. Any others are left to `otherwise`.
    static PyObject* call(PyObject* known, PyObject* const* arguments, Py_ssize_t positional, PyObject* names) {
        const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0, count = positional + named;
        if (positional >= 2 && count <= 3 && (!named || PyTuple_GET_ITEM(names, 0) == PyTuple_GET_ITEM(known, SKIPS))) {
            PyObject* const text = native_text(known, arguments[0], arguments[1], count == 3 ? arguments[2] : Py_False);
            if (text != Py_None) return text;
            Py_DECREF(text);
        }
        return PyObject_Vectorcall(PyTuple_GET_ITEM(known, OTHERWISE), arguments, static_cast<size_t>(positional), names);
    }
    // None if the decoder may not answer; null with an exception set. Reads only the instance's own attributes: transformers'
    // classes have a `__getattr__`, which takes longer than decoding an id.
    static PyObject* native_text(PyObject* known, PyObject* self, PyObject* ids, PyObject* skip_special) {
        const auto name = [known](Known which) { return PyTuple_GET_ITEM(known, which); };
        const nb::object own = nb::steal(PyObject_GenericGetDict(self, nullptr));
        if (!own.is_valid()) return nullptr;
        const auto attribute = [&](Known which) { return nb::borrow(PyDict_GetItemWithError(own.ptr(), name(which))); };
        const nb::object encoder = attribute(ENCODER), tokenizer = attribute(TOKENIZER), cleans_up = attribute(CLEANS_UP);
        if (!encoder.is_valid() || !tokenizer.is_valid() || cleans_up.ptr() != Py_False) return PyErr_Occurred() ? nullptr : Py_NewRef(Py_None);
        const nb::object backend = nb::steal(PyObject_GetAttr(encoder.ptr(), name(BACKEND)));
        if (backend.ptr() != tokenizer.ptr()) return backend.is_valid() ? Py_NewRef(Py_None) : nullptr;
        const nb::object decoding = nb::steal(PyObject_GetAttr(encoder.ptr(), name(DECODING)));
        if (!decoding.is_valid()) return nullptr;
        const nb::object decode = nb::steal(PyObject_GetAttr(decoding.ptr(), name(DECODE)));
        if (!decode.is_valid()) return nullptr;
        PyObject* const arguments[] = {ids, skip_special};
        return PyObject_Vectorcall(decode.ptr(), arguments, 2, nullptr);
    }
};

}  // namespace lopt
