import Foundation
import SecureStorage

@testable import SecureSync

extension Seeds {
    static func items() -> [String: Data] {
        func items(_ write: (inout CBORWriter) -> Void) -> Data {
            var writer = CBORWriter()
            write(&writer)
            return Data(writer.bytes)
        }
        return [
            "numbers": items {
                for shift in stride(from: 0, to: 64, by: 7) {
                    $0.unsigned(1 << UInt64(shift))
                    $0.signed(-1 << Int64(shift))
                }
            },
            "floats": items {
                for value in [0, -0.0, 1.5, 0.1, 65504, 65505, 1e300, 5e-324, .infinity, .nan] {
                    $0.double(value)
                }
            },
            "texts": items {
                for text in ["", "milk", "e\u{301}\u{1f600}\0"] { $0.text(text) }
                $0.data([0, 255])
                $0.array(1)
                $0.bool(true)
                $0.bool(false)
                $0.null()
            },
        ]
    }

    static func batches() throws -> [String: Data] {
        let members = [UInt8(1), 2].compactMap { MemberID([UInt8](repeating: $0, count: 16)) }
        let time: UInt64 = 1_790_000_000_000
        func stamp(_ milliseconds: UInt64, _ counter: UInt64, _ member: Int) -> Stamp {
            Stamp(time: Stamp.time(milliseconds: milliseconds) + counter, member: members[member])
        }
        func row(_ key: Int64, _ known: Stamp?) -> RowChange {
            let life = stamp(time - 5, 0, 0)
            return RowChange(
                table: "note", key: [.integer(key)], life: .init(stamp: life, isAlive: true),
                registers: [
                    .init(
                        columns: ["title"], values: [.text("milk")], stamp: life, known: known),
                    .init(
                        columns: ["begins", "ends"], values: [.real(0.1), .blob(Data([1, 2]))],
                        stamp: known == nil ? life : stamp(time, 7, 1), known: known),
                ])
        }
        let end = RowChange(
            table: "tag", key: [.text("a"), .null],
            life: .init(stamp: stamp(time, 0, 1), isAlive: false, known: .floor))
        let contents: [String: [RowChange]] = [
            "empty": [], "insertions": [row(1, nil), row(2, nil)],
            "updates": [row(1, .floor), row(2, stamp(4, 0, 1)), end, end],
        ]
        var seeds: [String: Data] = [:]
        for (name, changes) in contents {
            let head = LogHead(member: members[1], number: 9, hash: Data(count: 8))
            let body = BatchBody(
                time: time, schema: 2, heads: [head], changes: changes, isLast: true)
            let header = BatchHeader(
                group: Data(count: 16), member: members[0], number: 1, epoch: 1,
                previous: Data(count: 32))
            let signing = try BatchTarget.signing()
            let batch = try SealedBatch.seal(body, header, key: BatchTarget.key()) {
                try signing.signature(for: $0)
            }
            seeds["body-\(name)"] = Data(body.encoded())
            seeds["\(name)"] = batch.bytes
            // To which the target adds a signature.
            seeds["unsigned-\(name)"] = batch.bytes.dropLast(SealedBatch.signatureCount)
        }
        return seeds
    }
}
