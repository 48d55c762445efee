// The ids of a text:  encode tokenizer.lopt "some text"
//
// Tokenizer is what a program needs of the C interface; goroutines can share it.
package main

// #cgo LDFLAGS: -llopt
// #include <lopt.h>
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// Tokenizer is a compiled file that was opened.
type Tokenizer struct{ handle *C.lopt_tokenizer }

// Open opens a compiled file.
func Open(path string) (*Tokenizer, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var handle *C.lopt_tokenizer
	var failure C.lopt_error
	if C.lopt_open(name, &handle, &failure) != C.LOPT_OK {
		return nil, errors.New(C.GoString(&failure.message[0]))
	}
	tokenizer := &Tokenizer{handle}
	runtime.SetFinalizer(tokenizer, func(unused *Tokenizer) { C.lopt_close(unused.handle) })
	return tokenizer, nil
}

// Encode gives the ids of a text.
func (tokenizer *Tokenizer) Encode(text string, flags C.uint32_t) ([]uint32, error) {
	defer runtime.KeepAlive(tokenizer)
	bytes := []byte(text)
	var first *C.char
	if len(bytes) > 0 {
		first = (*C.char)(unsafe.Pointer(&bytes[0]))
	}
	ids := make([]uint32, len(bytes)/2+16)
	for {
		var count C.size_t
		var failure C.lopt_error
		status := C.lopt_encode(tokenizer.handle, first, C.size_t(len(bytes)), flags,
			(*C.uint32_t)(unsafe.Pointer(&ids[0])), C.size_t(len(ids)), &count, &failure)
		switch status {
		case C.LOPT_OK:
			return ids[:count], nil
		case C.LOPT_BUFFER_TOO_SMALL:
			ids = make([]uint32, count)
		default:
			return nil, errors.New(C.GoString(&failure.message[0]))
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: encode FILE TEXT")
		os.Exit(2)
	}
	tokenizer, err := Open(os.Args[1])
	if err == nil {
		var ids []uint32
		if ids, err = tokenizer.Encode(os.Args[2], C.LOPT_ADD_SPECIAL_TOKENS); err == nil {
			line := fmt.Sprint(ids)
			fmt.Println(line[1 : len(line)-1])
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
