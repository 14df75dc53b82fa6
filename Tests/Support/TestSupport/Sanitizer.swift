internal import Foundation

/// Detects ThreadSanitizer and AddressSanitizer, whose shadow memory is terabytes large.
package enum Sanitizer {
    package static var isPresent: Bool {
        let program = dlopen(nil, RTLD_NOW)
        return dlsym(program, "__tsan_init") != nil || dlsym(program, "__asan_init") != nil
    }
}
