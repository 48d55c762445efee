//! The ids of a text:  encode tokenizer.lopt "some text"
//!
//! `Tokenizer` is what a program needs of the C interface; it can be shared by threads.
use std::ffi::{c_char, CStr, CString};

const OK: i32 = 0;
const BUFFER_TOO_SMALL: i32 = 6;
const ADD_SPECIAL_TOKENS: u32 = 1;

#[repr(C)]
struct Error {
    message: [c_char; 256],
}

#[repr(C)]
struct Handle {
    _private: [u8; 0],
}

#[link(name = "lopt")]
extern "C" {
    fn lopt_open(path: *const c_char, tokenizer: *mut *mut Handle, error: *mut Error) -> i32;
    fn lopt_encode(
        tokenizer: *const Handle, text: *const c_char, length: usize, flags: u32,
        ids: *mut u32, capacity: usize, count: *mut usize, error: *mut Error,
    ) -> i32;
    fn lopt_close(tokenizer: *mut Handle);
}

impl Error {
    fn new() -> Self {
        Error { message: [0; 256] }
    }
    fn text(&self) -> String {
        unsafe { CStr::from_ptr(self.message.as_ptr()) }.to_string_lossy().into_owned()
    }
}

pub struct Tokenizer(*mut Handle);

// The library says so: one tokenizer may be used by many threads at once.
unsafe impl Send for Tokenizer {}
unsafe impl Sync for Tokenizer {}

impl Tokenizer {
    pub fn open(path: &str) -> Result<Self, String> {
        let path = CString::new(path).map_err(|error| error.to_string())?;
        let (mut handle, mut error) = (std::ptr::null_mut(), Error::new());
        match unsafe { lopt_open(path.as_ptr(), &mut handle, &mut error) } {
            OK => Ok(Tokenizer(handle)),
            _ => Err(error.text()),
        }
    }

    pub fn encode(&self, text: &str, flags: u32) -> Result<Vec<u32>, String> {
        let (mut count, mut error) = (0, Error::new());
        let mut ids = vec![0; text.len() / 2 + 16];
        loop {
            let status = unsafe {
                lopt_encode(
                    self.0, text.as_ptr().cast(), text.len(), flags,
                    ids.as_mut_ptr(), ids.len(), &mut count, &mut error,
                )
            };
            ids.resize(count, 0);
            match status {
                OK => return Ok(ids),
                BUFFER_TOO_SMALL => continue,
                _ => return Err(error.text()),
            }
        }
    }
}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        unsafe { lopt_close(self.0) }
    }
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, text] = arguments.as_slice() else {
        return Err("usage: encode FILE TEXT".into());
    };
    let ids = Tokenizer::open(path)?.encode(text, ADD_SPECIAL_TOKENS)?;
    println!("{}", ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
    Ok(())
}
