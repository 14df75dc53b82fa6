import Foundation

/// Whether the tests run under ThreadSanitizer or AddressSanitizer, whose shadow memory is
/// terabytes large.
enum Sanitizer {
    static var isPresent: Bool {
        let program = dlopen(nil, RTLD_NOW)
        return dlsym(program, "__tsan_init") != nil || dlsym(program, "__asan_init") != nil
    }
}
