import SecureStoragePlatform
import TestSupport
import Testing

/// Pauses between tries.
struct BackoffTests {
    @Test func `pauses are random, grow to a limit, and end with the patience`() {
        var backoff = Backoff(
            patience: .seconds(3600), first: .milliseconds(50), longest: .seconds(8))
        let pauses = (0..<200).compactMap { _ in backoff.next() }
        check(pauses.count, equals: 200)
        check(pauses[0] >= .milliseconds(25) && pauses[0] <= .milliseconds(50))
        check(pauses[1] <= .milliseconds(100))
        check(pauses[8...].allSatisfy { $0 >= .seconds(4) && $0 <= .seconds(8) })
        check(Set(pauses[8...]).count > 100)
        var impatient = Backoff(patience: .zero, first: .seconds(1), longest: .seconds(8))
        check(impatient.next() == nil)
    }

    @Test func `patience begins with the first failure`() async throws {
        var backoff = Backoff(patience: .seconds(60), first: .seconds(1), longest: .seconds(1))
        check(backoff.rest, equals: .seconds(60))
        try await Task.sleep(for: .milliseconds(20))
        check(backoff.rest, equals: .seconds(60))
        _ = backoff.next()
        check(backoff.rest < .seconds(60))
    }
}
