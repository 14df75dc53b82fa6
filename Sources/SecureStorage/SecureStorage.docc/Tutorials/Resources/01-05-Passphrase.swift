import Foundation
import SecureStorage

/// Asks on the terminal, which does not show what is typed.
func askPassphrase(_ question: String) throws -> SecretBytes {
    guard let typed = getpass(question + ": ") else { throw CocoaError(.fileReadUnknown) }
    let count = strlen(typed)
    // The C library keeps the answer until the next one.
    defer { memset(typed, 0, count) }
    return SecretBytes(copying: UnsafeRawBufferPointer(start: typed, count: count))
}
