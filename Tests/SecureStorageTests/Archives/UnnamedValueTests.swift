#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing
    import TestSupport

    /// Values that a class writes without keys, by their Objective-C types, as old code does.
    struct UnnamedValueTests {
        @Test func `numbers of every type survive storage at both ends of their ranges`() throws {
            let database = try TemporaryDatabase()
            let store = SecureKeyValueStore(fullDatabasePath: database.path)
            try store.open(with: TemporaryDatabase.key)
            try store.put(Numbers(isLeast: true), forKey: "least")
            try store.put(Numbers(isLeast: false), forKey: "greatest")
            for (key, isLeast) in [("least", true), ("greatest", false)] {
                let numbers: Numbers? = try store.get(key)
                check(numbers?.description, equals: Numbers(isLeast: isLeast).description)
            }
        }
    }

    final class Numbers: NSObject, NSCoding {
        private var signed: (Int8, Int16, Int32, Int64)
        private var unsigned: (UInt8, UInt16, UInt32, UInt64)
        private var long: (Int32, UInt32)
        private var real: (Float, Double)
        private var flag: Bool

        init(isLeast: Bool) {
            if isLeast {
                signed = (.min, .min, .min, .min)
                unsigned = (.min, .min, .min, .min)
                long = (.min, .min)
                real = (-.greatestFiniteMagnitude, -.greatestFiniteMagnitude)
            } else {
                signed = (.max, .max, .max, .max)
                unsigned = (.max, .max, .max, .max)
                long = (.max, .max)
                real = (.leastNonzeroMagnitude, .leastNonzeroMagnitude)
            }
            flag = !isLeast
        }

        init?(coder: NSCoder) {
            signed = (0, 0, 0, 0)
            unsigned = (0, 0, 0, 0)
            long = (0, 0)
            real = (0, 0)
            flag = false
            super.init()
            forEachValue { coder.decodeValue(ofObjCType: $0, at: $1) }
        }

        func encode(with coder: NSCoder) {
            forEachValue { coder.encodeValue(ofObjCType: $0, at: $1) }
        }

        override var description: String { "\(signed) \(unsigned) \(long) \(real) \(flag)" }

        private func forEachValue(_ body: (String, UnsafeMutableRawPointer) -> Void) {
            body("c", &signed.0)
            body("s", &signed.1)
            body("i", &signed.2)
            body("q", &signed.3)
            body("C", &unsigned.0)
            body("S", &unsigned.1)
            body("I", &unsigned.2)
            body("Q", &unsigned.3)
            body("l", &long.0)
            body("L", &long.1)
            body("f", &real.0)
            body("d", &real.1)
            body("B", &flag)
        }
    }
#endif
