import SecureStoragePlatform
import TestSupport
import Testing

/// What a caller of `onOwnThread` may expect of objects that the thread has used.
struct OwnThreadTests {
    private final class Object: Sendable {}

    @Test func `the thread keeps no reference to its result after the call`() async throws {
        for _ in 0..<2_000 {
            weak let object = try await onOwnThread { Object() }
            try require(object == nil)
        }
    }

    @Test func `the thread keeps no reference to what its work used after the call`() async throws {
        for _ in 0..<2_000 {
            weak var kept: Object?
            do {
                let object = Object()
                kept = object
                _ = try await onOwnThread { ObjectIdentifier(object) }
            }
            try require(kept == nil)
        }
    }
}
