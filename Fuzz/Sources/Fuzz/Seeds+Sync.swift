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
                for value in [
                    0, -0.0, 1.5, 0.1, 65504, 65505, 1e300, .leastNonzeroMagnitude, .infinity, .nan,
                ] {
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

    static let members = [UInt8(1), 2, 3].compactMap {
        MemberID([UInt8](repeating: $0, count: 16))
    }

    static let time: UInt64 = 1_790_000_000_000

    /// Rows by the name of a seed.
    static func changes() -> [String: [RowChange]] {
        func timestamp(_ milliseconds: UInt64, _ counter: UInt64, _ member: Int) -> Timestamp {
            Timestamp(
                time: Timestamp.time(milliseconds: milliseconds) + counter, member: members[member])
        }
        func row(_ key: Int64, _ known: Timestamp?) -> RowChange {
            let incarnation = timestamp(time - 5, 0, 0)
            return RowChange(
                table: "note", key: [.integer(key)],
                incarnation: .init(timestamp: incarnation, isAlive: true),
                columnGroups: [
                    .init(
                        columns: ["title"], values: [.text("milk")], timestamp: incarnation,
                        known: known),
                    .init(
                        columns: ["begins", "ends"], values: [.real(0.1), .blob(Data([1, 2]))],
                        timestamp: known == nil ? incarnation : timestamp(time, 7, 1), known: known),
                ])
        }
        let end = RowChange(
            table: "tag", key: [.text("a"), .null],
            incarnation: .init(
                timestamp: timestamp(time, 0, 1), isAlive: false, known: .stablePoint))
        return [
            "empty": [], "insertions": [row(1, nil), row(2, nil)],
            "updates": [row(1, .stablePoint), row(2, timestamp(4, 0, 1)), end, end],
        ]
    }

    static func batches() throws -> [String: Data] {
        var seeds: [String: Data] = [:]
        for (name, changes) in changes() {
            let position = BatchPosition(member: members[1], number: 9, hash: Data(count: 16))
            let body = BatchBody(
                time: time, schema: 2, positions: [position], changes: changes, isLast: true)
            let header = BatchHeader(
                group: Data(count: 16), member: members[0], number: 1, epoch: 1,
                previous: Data(count: 32),
                chain: ChainPosition(number: 1, hash: Data(count: 32)))
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

    static func sealed() throws -> [String: Data] {
        var seeds: [String: Data] = [:]
        let signing = try BatchTarget.signing()
        for kind in [SealedKind.batch, .snapshot] {
            for count in [0, 1, 300] {
                let object = try SealedObject.seal(
                    [UInt8](repeating: 7, count: count), SealedTarget.header(kind),
                    key: BatchTarget.key()
                ) { try signing.signature(for: $0) }
                seeds["\(kind.name)-\(count)"] = object.bytes
                seeds["unsigned-\(kind.name)-\(count)"] =
                    object.bytes.dropLast(SealedObject.signatureCount)
            }
        }
        for count in [0, 1, 2, 100, 1000] {
            seeds["padded-\(count)"] = Data(
                Padding.padded([UInt8](repeating: 7, count: count)))
        }
        return seeds
    }

    static func manifests() -> [String: Data] {
        let hash = Data(repeating: 7, count: 32)
        let rows = SnapshotManifest.Rows(
            name: Data(1...16), epoch: 2,
            parts: [.init(size: 12, hash: hash), .init(size: 2 << 20, hash: hash)])
        let first = SnapshotManifest(
            time: time, schema: 1, declaration: .first(of: members[0]),
            logs: [
                members[0]: .init(
                    hash: Data(count: 32), heard: time, lowerBounds: [], published: [:])
            ],
            rows: .init(name: Data(count: 16), epoch: 1, parts: []))
        let later = SnapshotManifest(
            time: time, schema: 3,
            declaration: Declaration(
                number: 9, positions: [members[0]: 5, members[1]: 2],
                stablePoint: StablePoint(positions: [members[0]: 4], time: 1000),
                logs: [members[0]: .init(began: 1), members[2]: .init(began: 8, closing: 9)],
                closed: [members[1]: 2]),
            logs: [
                members[0]: .init(
                    hash: hash, heard: 77,
                    lowerBounds: [.init(number: 4, time: 1000), .init(number: 5, time: 1200)],
                    published: [members[1]: 2, .none: 8]),
                members[1]: .init(
                    hash: hash, heard: 1, lowerBounds: [.init(number: 2, time: 5)], published: [:]),
                members[2]: .init(hash: Data(count: 32), heard: 0, lowerBounds: [], published: [:]),
            ], rows: rows)
        return ["first": Data(first.encoded()), "later": Data(later.encoded())]
    }

    static func parts() throws -> [String: Data] {
        var seeds: [String: Data] = [:]
        for (name, changes) in changes() {
            let body = BatchBody(
                time: time, schema: 1, positions: [], changes: changes, isLast: true)
            seeds["body-\(name)"] = Data(body.encoded())
            for part in try PartTarget.parts(of: changes, key: BatchTarget.key()) {
                seeds["part-\(name)"] = part
            }
        }
        return seeds
    }

    static func invitations() -> [String: Data] {
        [
            "shown": Data("0000000-0000000-0000000".utf8),
            "typed": Data(" o1234 56789\u{2013}abcde\tfghjk\n".utf8),
            "unchecked": Data("01234-56789-ABCDE-FGHJK".utf8),
            "short": Data("01234-56789".utf8),
            "other": Data("U\u{e9}\u{ad}\u{feff}0123456789abcdefghjk".utf8),
        ]
    }

    static func answers() -> [String: Data] {
        let start = #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n"
        let answers = [
            "list": """
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>\
            <KeyCount>2</KeyCount><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType>\
            <Contents><Key>a%2Fb+c</Key><Size>12</Size><Owner><ID>x</ID></Owner></Contents>\
            <Contents><Key>a%2Fd</Key><Size>0</Size></Contents></ListBucketResult>
            """,
            "page": """
            <ListBucketResult><IsTruncated>true</IsTruncated>\
            <Contents><Key>a &amp; &#x62;</Key><Size>3</Size></Contents></ListBucketResult>
            """,
            "removal": "<DeleteResult/>",
            "failures": """
            <DeleteResult><Error><Key>a</Key><Code>InternalError</Code>\
            <Message>milk and honey</Message></Error></DeleteResult>
            """,
            "error": """
            <Error><Code>SlowDown</Code><Message>Reduce your rate: milk and honey</Message>\
            <RequestId>1</RequestId></Error>
            """,
            "mixed": "<a b='c'>d<!-- e --><f>g</f>h<![CDATA[i]]><?j k?></a>",
            "entity": #"<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>"#,
            "deep": String(repeating: "<a>", count: 20) + String(repeating: "</a>", count: 20),
        ]
        return answers.mapValues { Data((start + $0).utf8) }
    }
}
