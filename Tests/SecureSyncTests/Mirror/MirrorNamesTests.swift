import Foundation
@testable import SecureMirror
import TestSupport
import Testing

@testable import SecureSync

/// The names of a mirror's objects, and points in time.
struct MirrorNamesTests {
    @Test func `names are as documented`() throws {
        let names = try MirrorNames("a/b")
        check(names.generation(1), equals: "a/b/generations/0000000000000001")
        check(names.part(2, of: 16), equals: "a/b/0000000000000010/snapshot/0000000000000002")
        check(names.manifest(of: 1), equals: "a/b/0000000000000001/snapshot/manifest")
        check(
            names.segment(3...255, .hours, of: 1),
            equals: "a/b/0000000000000001/hours/0000000000000003-00000000000000ff")
        #expect(throws: MirrorError.store(.invalidName("A"))) { try MirrorNames("A") }
    }

    @Test func `numbers are those that have a number before and after them`() {
        for (digits, number) in [
            ("0000000000000000", nil), ("0000000000000001", 1),
            ("7fffffffffffffff", UInt64(Int64.max)), ("8000000000000000", nil),
            ("000000000000001", nil), ("00000000000000001", nil), ("000000000000000g", nil),
            ("+000000000000001", nil), ("000000000000000A", nil), ("000000000000000a", 10),
        ] as [(String, UInt64?)] {
            check(MirrorNames.number(in: "a/generations/" + digits), equals: number, "\(digits)")
        }
        check(MirrorNames.number(in: "") == nil)
    }

    @Test func `a segment has two numbers in their order`() {
        let (one, two) = (MirrorNames.text(1), MirrorNames.text(2))
        check(MirrorNames.numbers(in: "a/log/\(one)-\(two)"), equals: 1...2)
        check(MirrorNames.numbers(in: "a/log/\(two)-\(two)"), equals: 2...2)
        for name in ["", one, "\(two)-\(one)", "\(one)-\(two)-\(two)", "\(one)-x", "manifest"] {
            check(MirrorNames.numbers(in: "a/log/" + name) == nil, "\(name)")
        }
    }

    @Test func `a point in time includes what was committed up to its millisecond`() {
        check(DatabaseMirror.Point.latest.includes(.max))
        let date = DatabaseMirror.Point.date(Date(timeIntervalSince1970: 2))
        check(date.includes(1999))
        check(date.includes(2000))
        check(!date.includes(2001))
    }

    @Test func `an object that is not a mirror's belongs to none`() {
        let (one, zero) = (MirrorNames.text(1), "0")
        for name in ["a", "a/b", "a/\(one)", "a/generations", "a/generations/x", "a/\(one)/other"] {
            check(MirrorNames.place(of: name) == nil, "\(name)")
        }
        let beginning = MirrorNames.place(of: "a/generations/\(one)")
        check(beginning?.mirror, equals: "a")
        check(beginning?.next, equals: "a/generations" + zero)
        let part = MirrorNames.place(of: "a/b/\(one)/snapshot/\(one)")
        check(part?.mirror, equals: "a/b")
        check(part?.isBeginning, equals: false)
    }
}
