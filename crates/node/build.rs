//! Says to the linker that the functions of Node.js are found when the module is loaded.

fn main() {
    napi_build::setup();
}
