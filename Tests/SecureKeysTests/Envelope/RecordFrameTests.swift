import Foundation
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureKeys

/// What is checked of the bytes of every record, before its own fields are read.
struct RecordFrameTests {
    private func record(
        _ magic: StaticString = "TEST", version: UInt8 = 2, length: Int = 20
    ) -> Data {
        var writer = RecordFrame.begin(magic, version: version)
        writer.raw([UInt8](repeating: 7, count: length - 4 - 1 - RecordFrame.checksumLength))
        return RecordFrame.end(writer)
    }

    private func open(_ record: Data) throws -> ByteReader {
        try RecordFrame.open(record, "TEST", version: 2, lengths: 20...30)
    }

    @Test(arguments: [20, 30]) func `a record of a possible length is read`(_ length: Int) throws {
        var reader = try open(record(length: length))
        try check(
            Array(reader.take(length - 13)), equals: [UInt8](repeating: 7, count: length - 13))
        try reader.expectEnd()
    }

    @Test(arguments: [13, 19, 31, 1000])
    func `a record of another length is damaged, though its checksum is right`(_ length: Int) {
        #expect(
            throws: EnvelopeError.damaged(reason: "\(length) bytes is not a valid record length")
        ) {
            try open(record(length: length))
        }
    }

    @Test(arguments: [0, 1, 7, 8, 11, 12])
    func `bytes that are too few for any record are damaged`(_ length: Int) {
        #expect(
            throws: EnvelopeError.damaged(reason: "\(length) bytes is not a valid record length")
        ) {
            try open(Data(count: length))
        }
    }

    @Test func `a record with other letters is damaged, though its checksum is right`() {
        #expect(throws: EnvelopeError.damaged(reason: "it does not start like a record")) {
            try open(record("TESS"))
        }
    }

    @Test(arguments: [0, 1, 3, 255] as [UInt8])
    func `a record of an unknown version is named by it, and one that is changed is damaged`(
        _ version: UInt8
    ) throws {
        #expect(throws: EnvelopeError.unsupportedVersion(Int(version))) {
            try open(record(version: version))
        }
        var changed = record()
        changed[4] = version
        #expect(throws: EnvelopeError.damaged(reason: "its checksum is wrong")) {
            try open(changed)
        }
    }

    @Test func `every byte of the checksum counts`() {
        for index in 12..<20 {
            var changed = record()
            changed[index] ^= 1
            #expect(throws: EnvelopeError.damaged(reason: "its checksum is wrong")) {
                try open(changed)
            }
        }
    }
}
