import Foundation
import TestSupport
import Testing

@testable import SecureStorage

struct NestingProbeTests {
    /// As deep as it says, through one of the containers.
    private struct Level: Encodable {
        enum Container { case keyed, unkeyed, single }

        let rest: Int
        let container: Container

        enum Key: CodingKey { case next }

        func encode(to encoder: any Encoder) throws {
            guard rest > 0 else { return }
            let next = Level(rest: rest - 1, container: container)
            switch container {
            case .keyed:
                var keys = encoder.container(keyedBy: Key.self)
                try keys.encode(next, forKey: .next)
            case .unkeyed:
                var elements = encoder.unkeyedContainer()
                try elements.encode(next)
            case .single:
                var value = encoder.singleValueContainer()
                try value.encode(next)
            }
        }
    }

    @Test(arguments: [Level.Container.keyed, .unkeyed, .single])
    private func `a value may be nested 128 levels deep, and no deeper`(
        _ container: Level.Container
    ) throws {
        try NestingProbe.check(Level(rest: 127, container: container))
        #expect(throws: SecureStorageError.typeConversionFailed) {
            try NestingProbe.check(Level(rest: 128, container: container))
        }
    }
}
